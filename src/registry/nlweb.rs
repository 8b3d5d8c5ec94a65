//! Names that `NLWeb` defines for tools and prompts.

/// The default tool, which needs no handler.
pub(super) const SEARCH: &str = "search";

/// Types in `NLWeb`'s own files that schema.org does not have.
pub(super) const TYPES: &[&str] = &["Statistics"];

/// Placeholders for the query.
pub(super) const QUERIES: &[&str] = &["request.query", "request.rawQuery"];

/// Valid values of `method`.
pub(super) const METHODS: &[&str] = &["builtin", "code", "extension", "url"];

/// Placeholders that have a value when tools are scored.
pub const PLACEHOLDERS: &[&str] = &[
    "request.query",
    "request.rawQuery",
    "request.previousQueries",
    "request.site",
    "request.itemType",
    "request.contextUrl",
    "request.contextDescription",
    "request.prevAnswers",
    "request.answers",
    "request.top_k",
    "request.item_name",
    "request.details_requested",
    "request.context",
    "site.itemType",
    "system.current_date",
    "system.temporal_range",
    "system.temporal_constraint",
    "system.query_analysis_hints",
];

/// Placeholders of other prompts of `NLWeb`, which have no value then.
pub(super) const UNFILLED: &[&str] = &[
    "request.answer",
    "request.item1_description",
    "request.item2_description",
    "request.ranked_items",
    "tool.description",
    "tools.description",
    "item.description",
    "item.name",
    "item.type",
    "item.source_site",
    "item.source",
    "item.age_days",
    "item.datePublished",
    "ensemble.queries",
    "ensemble.results",
];

/// The parameters that a class of `NLWeb`'s `methods` reads from the model's reply.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) class: &'static str,
    /// Required parameters.
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
}

impl Handler {
    /// Return true if the class reads a field.
    pub(super) fn reads(&self, field: &str) -> bool {
        self.required.contains(&field) || self.optional.contains(&field)
    }
}

/// The handlers included in `NLWeb`.
pub(super) const HANDLERS: &[Handler] = &[
    Handler {
        class: "ItemDetailsHandler",
        required: &["item_name", "details_requested"],
        optional: &["item_url"],
    },
    Handler {
        class: "CompareItemsHandler",
        required: &["item1_name", "item2_name"],
        optional: &["item1_url", "item2_url", "details_requested"],
    },
    Handler { class: "EnsembleToolHandler", required: &["queries"], optional: &["ensemble_type"] },
    Handler {
        class: "SubstitutionHandler",
        required: &[],
        optional: &["recipe_name", "dietary_need", "unavailable_ingredient", "preference"],
    },
    Handler {
        class: "AccompanimentHandler",
        required: &["search_query"],
        optional: &["main_item"],
    },
    Handler { class: "StatisticsHandler", required: &[], optional: &["query_type", "limit"] },
    Handler { class: "ConversationSearchHandler", required: &["search_query"], optional: &[] },
    Handler { class: "CricketQueryHandler", required: &["search_query"], optional: &[] },
];
