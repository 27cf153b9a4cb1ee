//! The batch as it is decoded and encoded, and what the contract requires of it whatever library decoded it.

use std::borrow::Cow;

use serde::Serialize;

use crate::Refusal;
use crate::request::is_name;

/// Operations of a batch, filters and readColumns of an operation.
pub const MAX_ITEMS: usize = 4096;

/// A string, borrowed from the request's body unless it was written with escapes.
#[derive(Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Text<'a>(pub Cow<'a, str>);

/// An array of at most [`MAX_ITEMS`].
#[derive(Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Items<T>(pub Vec<T>);

#[derive(Debug, PartialEq, Serialize)]
pub struct Batch<'a> {
    pub operations: Items<Operation<'a>>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Operation<'a> {
    pub method: Text<'a>,
    #[serde(rename = "relative-url")]
    pub relative_url: Text<'a>,
    pub body: Body<'a>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Body<'a> {
    pub filters: Items<Filter<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_columns: Option<Items<ReadColumn<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<Text<'a>>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Filter<'a> {
    pub column: Text<'a>,
    pub value: Value<'a>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Text<'a>),
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadColumn<'a> {
    pub column: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_return_type: Option<Text<'a>>,
}

/// The proof that a batch was decoded: every count and sum needs every value.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub operations: usize,
    pub filters: usize,
    pub read_columns: usize,
    pub nulls: usize,
    pub text_bytes: usize,
    pub number_sum: f64,
}

const OPERATIONS: Refusal = Refusal::new(400, "operations: 1 to 4096 objects are required");
const METHOD: Refusal = Refusal::new(400, "method: the string POST is required");
const RELATIVE_URL: Refusal = Refusal::new(400, "relative-url: a string of at least 1 character is required");
const FILTERS: Refusal = Refusal::new(400, "filters: 1 to 4096 objects are required");
const COLUMN: Refusal = Refusal::new(400, "column: a string of 1 to 64 characters is required");
const NUMBER_SUM: Refusal = Refusal::new(400, "value: the sum of the numbers overflows a double");

impl Text<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Batch<'_> {
    /// Check the batch against the contract's bounds and sum it up. [`Items`] has checked its own bound.
    pub fn receipt(&self) -> Result<Receipt, Refusal> {
        let operations = &self.operations.0;
        if operations.is_empty() {
            return Err(OPERATIONS);
        }
        let mut receipt = Receipt { operations: operations.len(), ..Receipt::default() };
        for operation in operations {
            receipt.count(operation)?;
        }
        if receipt.number_sum.is_finite() { Ok(receipt) } else { Err(NUMBER_SUM) }
    }
}

impl Receipt {
    fn count(&mut self, operation: &Operation<'_>) -> Result<(), Refusal> {
        let Body { filters, read_columns, operation_id } = &operation.body;
        if operation.method.0 != "POST" {
            return Err(METHOD);
        }
        if operation.relative_url.0.is_empty() {
            return Err(RELATIVE_URL);
        }
        if filters.0.is_empty() {
            return Err(FILTERS);
        }
        self.text_bytes += operation.method.len() + operation.relative_url.len();
        self.text_bytes += operation_id.as_ref().map_or(0, Text::len);
        self.filters += filters.0.len();
        for filter in &filters.0 {
            self.count_column(&filter.column)?;
            match &filter.value {
                Value::Null => self.nulls += 1,
                Value::Bool(_) => {}
                Value::Number(number) => self.number_sum += number,
                Value::Text(text) => self.text_bytes += text.len(),
            }
        }
        for read_column in read_columns.iter().flat_map(|columns| &columns.0) {
            self.read_columns += 1;
            self.count_column(&read_column.column)?;
            self.text_bytes += read_column.data_return_type.as_ref().map_or(0, Text::len);
        }
        Ok(())
    }

    fn count_column(&mut self, column: &Text<'_>) -> Result<(), Refusal> {
        self.text_bytes += column.len();
        if is_name(&column.0) { Ok(()) } else { Err(COLUMN) }
    }
}
