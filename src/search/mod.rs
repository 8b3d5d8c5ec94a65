//! An index of texts by their words, ranked with BM25.
//!
//! An [`Index`] has documents, each with a few weighted texts: a tool has its name, its examples
//! and its description. [`words()`] defines the words of a text.
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

use std::collections::{HashMap, HashSet};

/// Maximum number of characters of a query that are read.
const MAX_QUERY_CHARACTERS: usize = 10_000;

/// Maximum number of different words of a query, of those that occur in any document.
const MAX_QUERY_WORDS: usize = 64;

/// Maximum weight of a text.
pub const MAX_WEIGHT: u32 = 100;

/// BM25 parameter `k1`: how quickly the weight of a repeated word saturates.
const SATURATION: f32 = 1.2;

/// BM25 parameter `b`, from 0 to 1: the influence of a document's length.
const LENGTH: f32 = 0.75;

/// An index of documents, which are identified by their positions.
#[derive(Debug)]
pub struct Index {
    /// Numbers of the words.
    vocabulary: HashMap<String, usize>,
    /// By number of a word: the documents with it, in order, and its weight in each.
    postings: Vec<Vec<(usize, f32)>>,
    documents: usize,
}

impl Index {
    /// Create an index of documents, each a sequence of texts with weights of at most
    /// [`MAX_WEIGHT`].
    pub fn new<D, T>(documents: impl IntoIterator<Item = D>) -> Self
    where
        D: IntoIterator<Item = (T, u32)>,
        T: AsRef<str>,
    {
        let mut vocabulary = HashMap::new();
        let mut counted = Vec::new();
        for texts in documents {
            let mut counts = HashMap::new();
            for (text, weight) in texts {
                for word in words(text.as_ref()) {
                    let next = vocabulary.len();
                    let number = *vocabulary.entry(word).or_insert(next);
                    if weight > 0 {
                        *counts.entry(number).or_insert(0) += u64::from(weight.min(MAX_WEIGHT));
                    }
                }
            }
            counted.push(counts);
        }
        let postings = postings(vocabulary.len(), &counted);
        Self { vocabulary, postings, documents: counted.len() }
    }

    /// Return positions and scores of the documents with a word of `query`, best first; equal
    /// scores in the order of the documents.
    ///
    /// Of a long query, only the first 10,000 characters are read, and the first 64 words that
    /// occur in any document.
    pub fn search(&self, query: &str, limit: usize) -> Vec<(usize, f32)> {
        let mut known: Vec<usize> = Vec::new();
        for word in words(truncate_query(query)) {
            if let Some(word) = self.vocabulary.get(&word)
                && !known.contains(word)
            {
                known.push(*word);
            }
            if known.len() == MAX_QUERY_WORDS {
                break;
            }
        }
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for word in known {
            let postings = &self.postings[word];
            let rarity = rarity(postings.len(), self.documents);
            for (document, weight) in postings {
                *scores.entry(*document).or_default() += rarity * weight;
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.truncate(limit);
        found
    }
}

impl Index {
    /// Return the share of the words of `query` that occur in at least one of `documents`, from 0
    /// to 1. Rare words count more, and words that no document has count most. The result is 0 if
    /// the query has no words.
    ///
    /// Of a long query, only the first 10,000 characters and the first 64 words are read.
    pub fn coverage(&self, query: &str, documents: &[usize]) -> f32 {
        let mut seen: HashSet<String> = HashSet::new();
        let (mut all, mut had) = (0.0, 0.0);
        for word in words(truncate_query(query)) {
            if seen.len() == MAX_QUERY_WORDS || seen.contains(&word) {
                continue;
            }
            let number = self.vocabulary.get(&word);
            let postings = number.map_or(&[][..], |number| &self.postings[*number]);
            let weight = rarity(postings.len(), self.documents);
            all += weight;
            if postings.iter().any(|(document, _)| documents.contains(document)) {
                had += weight;
            }
            seen.insert(word);
        }
        if all > 0.0 { had / all } else { 0.0 }
    }
}

/// Return the part of a query that is read.
fn truncate_query(query: &str) -> &str {
    let end = query.char_indices().nth(MAX_QUERY_CHARACTERS).map_or(query.len(), |(at, _)| at);
    &query[..end]
}

/// Return, for each word, the documents with it and its weight in each. The weight grows with the
/// number of occurrences, with saturation, and is lower in long documents.
#[expect(clippy::cast_precision_loss, reason = "weights are no more exact than that")]
fn postings(words: usize, documents: &[HashMap<usize, u64>]) -> Vec<Vec<(usize, f32)>> {
    let lengths: Vec<u64> = documents.iter().map(|counts| counts.values().sum()).collect();
    let average = lengths.iter().sum::<u64>() as f32 / documents.len().max(1) as f32;
    let mut postings = vec![Vec::new(); words];
    for (document, (counts, length)) in documents.iter().zip(lengths).enumerate() {
        let length = 1.0 - LENGTH + LENGTH * (length as f32 / average);
        for (word, count) in counts {
            let count = *count as f32;
            let weight = count * (SATURATION + 1.0) / (count + SATURATION * length);
            postings[*word].push((document, weight));
        }
    }
    postings
}

/// Return the inverse document frequency of a word that occurs in `having` of all documents.
#[expect(clippy::cast_precision_loss, reason = "weights are no more exact than that")]
fn rarity(having: usize, documents: usize) -> f32 {
    let having = having as f32;
    (1.0 + (documents as f32 - having + 0.5) / (having + 0.5)).ln()
}
