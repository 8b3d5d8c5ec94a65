//! Texts by the words in them, ranked with BM25.
//!
//! An [`Index`] knows a number of documents, each a few texts that count for more or less: a tool
//! by its name, its examples and its description. [`words()`] says what counts as a word.
//!
//! ```
//! use toolweave::search::Index;
//!
//! let index = Index::new([[("GetWeather", 3)], [("send_mail", 3)], [("readFile", 3)]]);
//! assert_eq!(index.search("mails of today", 5)[0].0, 1);
//! assert!(index.search("music", 5).is_empty());
//! ```

#[cfg(test)]
mod tests;
mod words;

pub use self::words::words;

use std::{collections::HashMap, fmt};

use bm25::{
    Embedder, EmbedderBuilder, Embedding, Scorer, TokenEmbedder, TokenEmbedding, Tokenizer,
};

/// How many characters of a query are read.
const MAX_QUERY_CHARACTERS: usize = 10_000;

/// How many different words of a query count, of those that any document has.
const MAX_QUERY_WORDS: usize = 64;

/// How many times as much as another a text may count.
pub const MAX_WEIGHT: u32 = 100;

/// The number of a word in an index.
///
/// The numbers that come with the crate are hashes, which two words may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Word(u32);

impl TokenEmbedder for Word {
    type EmbeddingSpace = Self;

    fn embed(digits: &str) -> Self {
        Self(digits.parse().unwrap_or(u32::MAX))
    }
}

/// Takes texts of words by their numbers, with blanks between them: documents are no texts until
/// the weights of their parts are accounted for.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers;

impl Tokenizer for Numbers {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }
}

/// Documents, known by their positions.
pub struct Index {
    vocabulary: HashMap<String, Word>,
    scorer: Scorer<usize, Word>,
    documents: usize,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("documents", &self.documents)
            .field("words", &self.vocabulary.len())
            .finish_non_exhaustive()
    }
}

impl Index {
    /// An index of documents: texts, each with how many times it counts, at most [`MAX_WEIGHT`].
    pub fn new<D, T>(documents: impl IntoIterator<Item = D>) -> Self
    where
        D: IntoIterator<Item = (T, u32)>,
        T: AsRef<str>,
    {
        let mut vocabulary = HashMap::new();
        let documents: Vec<Vec<Word>> = documents
            .into_iter()
            .map(|texts| {
                let texts = texts.into_iter();
                texts
                    .flat_map(|(text, weight)| numbered(&mut vocabulary, text.as_ref(), weight))
                    .collect()
            })
            .collect();
        let embedder = embedder(&documents);
        let mut scorer = Scorer::new();
        for (position, document) in documents.iter().enumerate() {
            let mut embedding = embedder.embed(&text(document));
            // A word has the same weight at all its places, and the first one found is taken.
            embedding.0.sort_unstable_by_key(|word| word.index);
            embedding.0.dedup_by_key(|word| word.index);
            scorer.upsert(&position, embedding);
        }
        Self { vocabulary, scorer, documents: documents.len() }
    }

    /// The positions of the documents that have a word of `query`, with their scores, the best
    /// first; among equals the order is that of the documents.
    ///
    /// Of a long query the first 10,000 characters count, and the first 64 words that any document has.
    pub fn search(&self, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let end = query.char_indices().nth(MAX_QUERY_CHARACTERS).map_or(query.len(), |(at, _)| at);
        let query = &query[..end];
        let mut known: Vec<Word> = Vec::new();
        for word in words(query) {
            if let Some(word) = self.vocabulary.get(&word)
                && !known.contains(word)
            {
                known.push(*word);
            }
            if known.len() == MAX_QUERY_WORDS {
                break;
            }
        }
        let query = known.into_iter().map(|index| TokenEmbedding { index, value: 1.0 }).collect();
        let found = self.scorer.matches(&Embedding(query));
        let mut found: Vec<_> = found.into_iter().map(|found| (found.id, found.score)).collect();
        found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.truncate(limit);
        found
    }
}

fn embedder(documents: &[Vec<Word>]) -> Embedder<Word, Numbers> {
    let words: usize = documents.iter().map(Vec::len).sum();
    #[expect(clippy::cast_precision_loss, reason = "an average")]
    let average = words as f32 / documents.len().max(1) as f32;
    EmbedderBuilder::with_avgdl(average).build()
}

/// The words of a text by their numbers, each as often as it counts.
fn numbered(vocabulary: &mut HashMap<String, Word>, text: &str, weight: u32) -> Vec<Word> {
    let mut numbers = Vec::new();
    for word in words(text) {
        let next = Word(u32::try_from(vocabulary.len()).unwrap_or(u32::MAX));
        let number = *vocabulary.entry(word).or_insert(next);
        numbers.extend((0..weight.min(MAX_WEIGHT)).map(|_| number));
    }
    numbers
}

fn text(document: &[Word]) -> String {
    let digits: Vec<_> = document.iter().map(|word| word.0.to_string()).collect();
    digits.join(" ")
}
