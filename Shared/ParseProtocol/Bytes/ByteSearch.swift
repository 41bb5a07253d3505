import Glibc

extension [UInt8] {
    /// Whether the ASCII `text` occurs in the bytes. Cheap check of a body before decoding it; the generic
    /// `firstRange(of:)` was visible in profiles.
    public func contains(text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard count > 0 else { return true }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var position = 0
            while position + count <= bytes.count {
                let left = bytes.count - position - count + 1
                guard let found = memchr(base + position, Int32(text.utf8Start[0]), left) else { return false }
                if memcmp(found, text.utf8Start, count) == 0 { return true }
                position = UnsafeRawPointer(found) - base + 1
            }
            return false
        }
    }
}

extension String {
    /// Whether the text contains the character U+0000. Every saved text is checked.
    public var hasNull: Bool {
        let found = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
        return found ?? utf8.contains(0)
    }
}
