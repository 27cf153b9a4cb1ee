//! The two functions of the crate `traitobject` that are called: by `unsafe-any`, for the configuration of the logger. The
//! crate itself implements one trait twice for what today's compilers hold to be one type.

/// The address of the value behind a pointer to a trait object.
///
/// # Safety
///
/// Nothing is known of the value's type any more.
pub unsafe fn data<T: ?Sized>(value: *const T) -> *const () {
    value.cast()
}

/// The same for a pointer through which the value may be changed.
///
/// # Safety
///
/// Nothing is known of the value's type any more.
pub unsafe fn data_mut<T: ?Sized>(value: *mut T) -> *mut () {
    value.cast()
}
