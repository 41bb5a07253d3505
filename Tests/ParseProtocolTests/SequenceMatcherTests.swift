import ParseProtocol
import Testing

@Suite struct SequenceMatcherTests {
    /// Compares the search for all two-letter sequences of length up to five, in all texts of length up to eight, with
    /// a comparison at each position.
    @Test func itFindsWhatComparingAtEachPlaceFinds() {
        func sequences(upTo length: Int) -> [[UInt8]] {
            (0...length).flatMap { count in
                (0..<(1 << count)).map { bits in (0..<count).map { UInt8(bits >> $0 & 1) } }
            }
        }
        let texts = sequences(upTo: 8)
        for sought in sequences(upTo: 5) {
            let matcher = SequenceMatcher(sought)
            for text in texts {
                let isThere =
                    !sought.isEmpty && text.count >= sought.count
                    && (0...text.count - sought.count).contains { text[$0...].starts(with: sought) }
                #expect(matcher.isIn(text) == isThere, "\(sought) in \(text)")
            }
        }
    }
}
