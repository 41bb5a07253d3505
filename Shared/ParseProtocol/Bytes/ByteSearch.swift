import Glibc

extension [UInt8] {
    /// Whether the ASCII `text` occurs in the bytes. For a cheap look at a body before deciding to decode it;
    /// `firstRange(of:)` is generic, and profiles showed it.
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
    /// Whether the character U+0000 occurs in the text. Every text that is saved is searched for it.
    public var hasNull: Bool {
        let found = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
        return found ?? utf8.contains(0)
    }
}
