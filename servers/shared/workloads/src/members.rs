//! How the batch is read through serde, by any library: exact names, bounded arrays, and ignored members that are checked.
//!
//! Everything is read with `deserialize_any`. With a hint of what is wanted, sonic-rs walks an array that stands there instead, and
//! recurses once for each of its levels before it refuses it: a million brackets overflow the stack.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::batch::{Batch, Body, Filter, Items, MAX_ITEMS, Operation, ReadColumn, Text, Value};

/// Nested objects and arrays, the root being level 1.
const MAX_LEVEL: usize = 128;

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;

            fn expecting(&self, told: &mut fmt::Formatter) -> fmt::Result {
                told.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Value<'de>;

            fn expecting(&self, told: &mut fmt::Formatter) -> fmt::Result {
                told.write_str("a string, a number, a boolean or null")
            }
            fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'de>, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'de>, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'de>, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'de>, E> {
                if value.is_finite() { Ok(Value::Number(value)) } else { Err(E::custom("a number overflows a double")) }
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Text(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Value<'de>, E> {
                Ok(Value::Text(Text(Cow::Owned(text.to_owned()))))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Items<T>;

            fn expecting(&self, told: &mut fmt::Formatter) -> fmt::Result {
                told.write_str("an array of objects")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Items<T>, A::Error> {
                let mut items = Vec::with_capacity(array.size_hint().unwrap_or(0).min(MAX_ITEMS));
                while let Some(item) = array.next_element()? {
                    if items.len() == MAX_ITEMS {
                        return Err(A::Error::custom("at most 4096 objects are accepted"));
                    }
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// A value of an ignored member, of which the document's validity and depth still depend. `level` is its own, were it an object or array.
struct Ignored {
    level: usize,
}

impl Ignored {
    fn inner<E: Error>(&self) -> Result<usize, E> {
        if self.level > MAX_LEVEL { Err(E::custom("nested more than 128 levels deep")) } else { Ok(self.level + 1) }
    }
}

impl<'de> DeserializeSeed<'de> for Ignored {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Ignored {
    type Value = ();

    fn expecting(&self, told: &mut fmt::Formatter) -> fmt::Result {
        told.write_str("any value")
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let level = self.inner()?;
        while array.next_element_seed(Ignored { level })?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let level = self.inner()?;
        while object.next_key::<Text>()?.is_some() {
            object.next_value_seed(Ignored { level })?;
        }
        Ok(())
    }
}

/// Implements `Deserialize` for an object that stands at a level of the batch. serde's own derive would skip unknown members with
/// `IgnoredAny`, for which a library need not look into strings or count levels. Of a member given twice, the last counts.
macro_rules! object {
    ($object:ident at $level:literal, required { $($name:literal => $field:ident),* }, optional { $($other_name:literal => $other:ident),* }) => {
        impl<'de> Deserialize<'de> for $object<'de> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(field_identifier)]
                #[allow(non_camel_case_types)]
                enum Member {
                    $(#[serde(rename = $name)] $field,)*
                    $(#[serde(rename = $other_name)] $other,)*
                    #[serde(other)]
                    Unknown,
                }
                struct Reader;
                impl<'de> Visitor<'de> for Reader {
                    type Value = $object<'de>;

                    fn expecting(&self, told: &mut fmt::Formatter) -> fmt::Result {
                        told.write_str("an object")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<$object<'de>, A::Error> {
                        $(let mut $field = None;)*
                        $(let mut $other = None;)*
                        while let Some(member) = object.next_key()? {
                            match member {
                                $(Member::$field => $field = Some(object.next_value()?),)*
                                $(Member::$other => $other = object.next_value()?,)*
                                Member::Unknown => object.next_value_seed(Ignored { level: $level + 1 })?,
                            }
                        }
                        Ok($object {
                            $($field: $field.ok_or_else(|| A::Error::missing_field($name))?,)*
                            $($other,)*
                        })
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }
    };
}

object!(Batch at 1, required { "operations" => operations }, optional {});
object!(Operation at 3, required { "method" => method, "relative-url" => relative_url, "body" => body }, optional {});
object!(Body at 4, required { "filters" => filters }, optional { "readColumns" => read_columns, "operationId" => operation_id });
object!(Filter at 6, required { "column" => column, "value" => value }, optional {});
object!(ReadColumn at 6, required { "column" => column }, optional { "dataReturnType" => data_return_type });
