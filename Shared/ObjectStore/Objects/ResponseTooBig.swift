/// A response that exceeds the caller's size limit.
public struct ResponseTooBig: Error {
    /// Bytes of the first rows, which already exceed the limit.
    let bytes: Int
    let rows: Int

    /// The estimated bytes of the whole response from its first rows, plus an eighth; at most the store's limit.
    /// - Parameters:
    ///   - wanted: the maximum number of rows.
    ///   - earlier: what was found before these rows for the same response.
    public func needed(rows wanted: Int, after earlier: (bytes: Int, rows: Int) = (0, 0)) -> Int {
        let (bytes, rows) = (earlier.bytes + self.bytes, earlier.rows + self.rows)
        let average = bytes / max(1, rows) + 1
        let whole = average.multipliedReportingOverflow(by: max(1, wanted))
        let most = ObjectReader.answerBytesMax
        return whole.overflow || whole.partialValue > most / 9 * 8 ? most : max(bytes + 1, whole.partialValue / 8 * 9)
    }
}
