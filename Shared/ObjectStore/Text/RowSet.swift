/// The rows that a text search found: one bit for each row of the class.
final class RowSet: Sendable {
    /// Limit of the highest row, so that a set takes at most 32 MiB.
    static let rowMax: Int64 = 1 << 28

    private let bits: [UInt64]

    private init(_ bits: [UInt64]) { self.bits = bits }

    /// - Parameters:
    ///   - rows: its first column has the rows.
    ///   - countMin: the result is nil for fewer rows.
    ///   - highest: the highest row of the class, at most `rowMax`.
    static func read(_ rows: any StoreStatement, countMin: Int64, highest: Int64) throws -> RowSet? {
        var bits: [UInt64] = Array(repeating: 0, count: Int(highest >> 6) + 1)
        var count: Int64 = 0
        while try rows.step() {
            let row = rows.int(0)
            guard row >= 0, row <= highest else { continue }
            bits[Int(row >> 6)] |= 1 &<< UInt64(row & 63)
            count += 1
        }
        return count < countMin ? nil : RowSet(bits)
    }

    func contains(_ row: Int64) -> Bool {
        let word = Int(row >> 6)
        return bits.indices.contains(word) && bits[word] & (1 &<< UInt64(row & 63)) != 0
    }
}
