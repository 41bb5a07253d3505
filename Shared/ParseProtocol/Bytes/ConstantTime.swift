/// Comparison of secrets and their digests. `==` of `Data`, arrays and texts ends at the first byte that differs, so
/// that its time tells how much of a guess is right.
public enum ConstantTime {
    /// Whether both are the same. Looks at every byte; only the lengths, which are no secret, change the time.
    public static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }
}
