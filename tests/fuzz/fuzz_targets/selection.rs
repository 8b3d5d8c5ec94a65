//! Templates, example structures and replies: values are not parsed again, generated schemas are
//! valid, and parsed replies are consistent.

#![no_main]

use std::sync::LazyLock;

use inputs::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolweave::{
    contract::FunctionContract,
    prompt::sample_arguments,
    registry::{structure, template::Template},
    search::{Index, words},
    selection::ReplyReader,
    validator::Validator,
};

static READERS: LazyLock<Vec<(ReplyReader, Validator)>> = LazyLock::new(|| {
    let structures = [
        json!({"score": "integer between 0 and 100", "a": "the a", "b": "integer from 0 to 9"}),
        json!({"score": 1, "a": "one of 'x' or 'y' (required)", "b": ["number"], "c": {"d": true}}),
        json!({"type": "object", "properties": {"score": {}, "a": {"type": ["string", "null"]}}}),
        json!({}),
    ];
    let schemas = structures.map(|structure| structure::reply_schema(Some(&structure)));
    let reader = |schema| {
        let reader = ReplyReader::new(&schema).expect("a schema");
        let validator = Validator::new(reader.parameter_schema()).expect("a schema");
        (reader, validator)
    };
    schemas.map(reader).into()
});

fuzz_target!(|data: &[u8]| {
    let mut input = Input::read(data);
    let (reader, validator) = &READERS[input.knob(&[0, 1, 2, 3])];
    let (before, after) = input.knob(&[
        ("", ""),
        ("{\"score\": ", "}"),
        ("{\"score\": \"85%\", \"a\": \"", "\"}"),
        ("<think>", "</think>{\"score\": 1}"),
    ]);
    // A text that takes too long is repeated in many inputs.
    let times = input.knob(&[1, 1, 1, 2, 64]);
    let text = format!("{before}{}{after}", input.text.repeat(times));

    prompt(&text);
    example(&text);
    reply(&text, reader, validator);
    let index = Index::new([[(&text, 1)]]);
    assert!(words(&text).iter().all(|word| !word.is_empty()));
    assert_eq!(index.search(&text, 2).len(), usize::from(!words(&text).is_empty()));
});

fn prompt(text: &str) {
    let template = Template::parse(text);
    let mut end = 0;
    let mut spans = Vec::new();
    for (name, span) in template.spans() {
        assert!(end <= span.start && text[span.clone()].contains(name));
        assert!(text[span.clone()].starts_with('{') && text[span.clone()].ends_with('}'));
        end = span.end;
        spans.push(span);
    }
    let mut written = spans.iter().map(|span| text[span.clone()].to_owned().into());
    assert_eq!(template.render(|_| written.next()), text);
    let value = "{a.b}{c}";
    let filled = template.render(|_| Some(value.into()));
    let replaced: usize = spans.iter().map(|span| span.len()).sum();
    assert_eq!(filled.len(), text.len() - replaced + spans.len() * value.len());
}

fn example(text: &str) {
    let phrase = json!({"score": text, "p": text});
    for structure in serde_json::from_str(text).ok().into_iter().chain([phrase]) {
        let schema = structure::reply_schema(Some(&structure));
        let validator = Validator::new(&schema).expect("a schema");
        assert_eq!(structure::reply_schema(Some(&schema)), schema);
        let contract = FunctionContract::new("tool").expect("a name").with_parameters(schema);
        // A schema from the input may be unsatisfiable.
        if structure.get("properties").is_none() {
            let sample = sample_arguments(&contract.expect("a contract")).expect("a sample");
            assert!(validator.is_valid(&sample), "{sample}");
        }
    }
}

fn reply(text: &str, reader: &ReplyReader, validator: &Validator) {
    let reading = reader.read(text);
    assert_eq!(reading, reader.read(text), "the same reply, read twice");
    let is_fine = reading.score.is_ok() && reading.violations.is_empty();
    assert_eq!(reading.error().is_none(), is_fine);
    let parameters = Value::Object(reading.parameters.clone());
    if reading.violations.is_empty() && reading.score.is_ok() {
        assert!(validator.is_valid(&parameters), "{parameters}");
    }
    let Ok(score) = reading.score else { return };
    assert!((0.0..=100.0).contains(&score));
    if is_fine {
        let mut members = reading.parameters;
        members.insert("score".to_owned(), score.into());
        let again = reader.read_value(members.into());
        assert_eq!((again.score, Value::Object(again.parameters)), (Ok(score), parameters));
        assert!(again.repairs.is_empty() && again.ignored.is_empty());
    }
}
