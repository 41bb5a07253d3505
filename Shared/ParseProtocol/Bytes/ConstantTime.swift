/// Comparison of secrets and their digests. `==` of `Data`, arrays and texts stops at the first differing byte, so its
/// time reveals how much of a guess is right.
public enum ConstantTime {
    /// Whether both are equal. Compares every byte; the time depends only on the lengths, which are not secret.
    public static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }
}
