/// An answer that is larger than whoever asked has room for.
public struct OutgrownAnswer: Error {
    /// Bytes of the first rows, which are too many already.
    let bytes: Int
    let rows: Int

    /// Bytes of the whole answer if its other rows are like the first ones, and an eighth more; no more than the store
    /// allows.
    /// - Parameter wanted: rows that it may have.
    public func needed(rows wanted: Int) -> Int {
        let average = bytes / max(1, rows) + 1
        let whole = average.multipliedReportingOverflow(by: max(1, wanted))
        let most = ObjectReader.answerBytesMax
        return whole.overflow || whole.partialValue > most / 9 * 8 ? most : max(bytes + 1, whole.partialValue / 8 * 9)
    }
}
