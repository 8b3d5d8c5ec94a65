//! The laws of the index.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::cpu_time::cpu_time;

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "send",
        "Mail",
        "mails",
        "HTTPServer",
        "file_2",
        "weather",
        "x",
        "的",
        "新闻",
        "É",
        "+",
    ]);
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<Vec<(String, u32)>>> {
    prop::collection::vec(prop::collection::vec((text(), 0_u32..4), 0..3), 0..10)
}

fn words_of(document: &[(String, u32)]) -> HashSet<String> {
    let counted = document.iter().filter(|(_, weight)| *weight > 0);
    counted.flat_map(|(text, _)| words(text)).collect()
}

/// Return the BM25 scores by definition, in double precision.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn defined(documents: &[Vec<(String, u32)>], query: &str) -> Vec<f64> {
    let repeated = |document: &Vec<(String, u32)>| -> Vec<String> {
        let texts = document.iter();
        texts
            .flat_map(|(text, weight)| words(&vec![text.as_str(); *weight as usize].join(" ")))
            .collect()
    };
    let bags: Vec<_> = documents.iter().map(repeated).collect();
    let average = bags.iter().map(Vec::len).sum::<usize>() as f64 / bags.len() as f64;
    let asked: HashSet<_> = words(query).into_iter().collect();
    let score = |bag: &Vec<String>| {
        let term = |word: &String| {
            let count = bag.iter().filter(|other| *other == word).count() as f64;
            let having = bags.iter().filter(|bag| bag.contains(word)).count() as f64;
            let rarity = (1.0 + (bags.len() as f64 - having + 0.5) / (having + 0.5)).ln();
            let length = bag.len() as f64 / average;
            rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))
        };
        asked.iter().filter(|word| bag.contains(word)).map(term).sum()
    };
    bags.iter().map(score).collect()
}

proptest! {
    #[test]
    fn coverage_is_the_share_of_the_words_that_documents_have(
        documents in documents(),
        query in text(),
        some in prop::collection::vec(0_usize..12, 0..4),
    ) {
        let index = Index::new(documents.clone());
        let covered = index.coverage(&query, &some);
        prop_assert!((0.0..=1.0).contains(&covered));
        let had: HashSet<_> =
            some.iter().filter_map(|at| documents.get(*at)).flat_map(|one| words_of(one)).collect();
        let asked: HashSet<_> = words(&query).into_iter().collect();
        prop_assert_eq!(covered > 0.0, !asked.is_disjoint(&had));
        prop_assert_eq!(covered >= 0.999_999, !asked.is_empty() && asked.is_subset(&had));
        let mut more = some.clone();
        more.push(0);
        prop_assert!(index.coverage(&query, &more) >= covered);
    }

    #[test]
    fn scores_are_those_of_the_definition(documents in documents(), query in text()) {
        let wanted = defined(&documents, &query);
        for (position, score) in Index::new(documents).search(&query, usize::MAX) {
            let wanted = wanted[position];
            prop_assert!((f64::from(score) - wanted).abs() <= 1e-5 * wanted, "{score} {wanted}");
        }
    }

    #[test]
    fn exactly_the_documents_with_a_word_of_the_query_are_found(
        documents in documents(), query in text(),
    ) {
        let asked: HashSet<_> = words(&query).into_iter().collect();
        let wanted: Vec<_> = (0..documents.len())
            .filter(|at| !words_of(&documents[*at]).is_disjoint(&asked))
            .collect();
        let index = Index::new(documents);
        let found = index.search(&query, usize::MAX);
        let mut positions: Vec<_> = found.iter().map(|(position, _)| *position).collect();
        positions.sort_unstable();
        prop_assert_eq!(positions, wanted);
        for pair in found.windows(2) {
            let by_score = pair[1].1.total_cmp(&pair[0].1);
            prop_assert!(by_score.then(pair[0].0.cmp(&pair[1].0)).is_lt());
        }
        prop_assert!(found.iter().all(|(_, score)| *score > 0.0));
    }

    #[test]
    fn search_is_deterministic_and_respects_its_limit(
        documents in documents(), query in text(), limit in 0_usize..6,
    ) {
        let all = Index::new(documents.clone()).search(&query, usize::MAX);
        let some = Index::new(documents).search(&query, limit);
        prop_assert_eq!(&all[..limit.min(all.len())], &some[..]);
    }

    #[test]
    fn a_greater_weight_never_lowers_the_score(weight in 1_u32..MAX_WEIGHT) {
        let documents = |weight| [
            vec![("mail", weight), ("some other words here", 1)],
            vec![("mail", 1), ("some other words here", 1)],
        ];
        let found = Index::new(documents(weight)).search("mail", 2);
        prop_assert_eq!(found[0].0, 0);
    }
}

#[test]
fn a_huge_query_takes_bounded_time() {
    let documents = (0..2_000).map(|number| {
        let words: Vec<_> = (0..100).map(|word| format!("w{}", number + word)).collect();
        [(words.join(" "), 1)]
    });
    let index = Index::new(documents);
    let query = "w1 w2 w3 w4 w5 w6 w7 w8 w9 ".repeat(100_000);
    let (used, found) = cpu_time(|| index.search(&query, 5).len());
    assert_eq!(found, 5);
    assert!(used.as_secs() < 10);
}

#[test]
fn an_index_of_nothing_finds_nothing() {
    assert!(Index::new([[("", 1)]; 0]).search("a", 5).is_empty());
    assert!(Index::new([[("", 1)], [("...", 1)]]).search("a .", 5).is_empty());
    assert!(Index::new([[("a", 0)]]).search("a", 5).is_empty());
}

#[test]
fn names_and_texts_of_all_scripts_have_words() {
    let cases: &[(&str, &[&str])] = &[
        ("send_mail", &["send", "mail"]),
        ("SendMails", &["send", "mail", "sendmail"]),
        ("HTTPServer", &["http", "server", "httpserver"]),
        (
            "getHTTPResponse2",
            &[
                "get",
                "http",
                "response",
                "2",
                "gethttp",
                "httpresponse",
                "response2",
                "gethttpresponse2",
            ],
        ),
        ("x.y/z", &["x", "y", "z"]),
        ("it's", &["it", "s"]),
        ("glass of lenses", &["glass", "of", "lense"]),
        ("bus is", &["bus", "is"]),
        ("2024", &["2024"]),
        ("Straße STRASSE", &["strasse", "strasse"]),
        ("Σίσυφος ΣΊΣΥΦΟΣ", &["σίσυφοσ", "σίσυφοσ"]),
        ("新闻报", &["新", "闻", "报", "新闻", "闻报"]),
        ("用iPhone", &["用", "i", "phone", "用i", "iphone"]),
        ("+ - _", &[]),
        ("", &[]),
    ];
    for (text, wanted) in cases {
        assert_eq!(words(text), *wanted, "{text}");
    }
}

#[test]
fn case_makes_no_difference() {
    for ch in ('\0'..=char::MAX).filter(|ch| ch.is_alphanumeric()) {
        let one = |mut mapped: Box<dyn Iterator<Item = char>>| {
            mapped.next().filter(|_| mapped.next().is_none())
        };
        let (lower, upper) = (one(Box::new(ch.to_lowercase())), one(Box::new(ch.to_uppercase())));
        for other in [lower, upper].into_iter().flatten() {
            assert_eq!(words(&ch.to_string()), words(&other.to_string()), "{ch} {other}");
        }
    }
}
