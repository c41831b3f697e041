//! Files of rows: int32, little-endian, row after row, nothing else; and checksums of rows.
//!
//! The task knows how many columns a row has. Invariant: a row has four columns in memory, those
//! that the file does not have are 0.

/// Up to four columns.
pub type Cells = [i32; 4];

/// The rows of a file whose rows have `arity` columns, or why it has none.
pub fn read(path: &str, arity: usize) -> Result<Vec<Cells>, String> {
    let bytes = std::fs::read(path).map_err(|reason| format!("{path}: {reason}"))?;
    if bytes.len() % (4 * arity) != 0 {
        return Err(format!(
            "{path}: {} bytes are no rows of {arity} int32.",
            bytes.len()
        ));
    }
    let row = |cells: &[u8]| {
        let mut columns = [0; 4];
        for (column, cell) in columns.iter_mut().zip(cells.chunks_exact(4)) {
            *column = i32::from_le_bytes([cell[0], cell[1], cell[2], cell[3]]);
        }
        columns
    };
    Ok(bytes.chunks_exact(4 * arity).map(row).collect())
}

/// A number that is unlikely to be that of another row; a row has at least three cells.
pub fn mix(cells: &[i32]) -> u64 {
    let mut hash = 0_u64;
    for cell in cells {
        hash = (hash ^ u64::from(*cell as u32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 29;
    }
    hash
}
