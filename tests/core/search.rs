//! Golden cases of search.

use serde_json::{Value, json};
use toolweave::search::Index;

use crate::golden::cases;

#[test]
fn golden_queries_find_their_documents() {
    for group in cases("search/queries.json") {
        let documents: Vec<Vec<(String, u32)>> =
            serde_json::from_value(group["documents"].clone()).unwrap();
        let index = Index::new(documents);
        for case in group["queries"].as_array().unwrap() {
            let found = index.search(case["query"].as_str().unwrap(), usize::MAX);
            let positions: Value = found.into_iter().map(|(position, _)| json!(position)).collect();
            assert_eq!(positions, case["found"], "{}", case["query"]);
        }
    }
}
