//! Numbers in as few bytes as possible (LEB128).

/// Appends `number`.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Splits a number off the front; `None` if there is none or it is too long.
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{put, take};

    #[test]
    fn varints_round_trip_and_damage_is_rejected() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            let mut rest = &out[..];
            assert_eq!((take(&mut rest), rest.len()), (Some(number), 0));
            assert_eq!(take(&mut &out[..out.len() - 1]), None);
        }
        assert_eq!(take(&mut &[0xff; 10][..]), None);
        assert_eq!(take(&mut &[0x80; 11][..]), None);
    }
}
