extension [UInt8] {
    /// Whether the ASCII `text` occurs in the bytes. For a cheap look at a body before deciding to decode it;
    /// `firstRange(of:)` is generic, and profiles showed it.
    public func contains(text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return withUnsafeBufferPointer { bytes in
            guard let first = wanted.first, bytes.count >= wanted.count else { return false }
            for start in 0...(bytes.count - wanted.count) where bytes[start] == first {
                if wanted.indices.allSatisfy({ bytes[start + $0] == wanted[$0] }) { return true }
            }
            return false
        }
    }
}
