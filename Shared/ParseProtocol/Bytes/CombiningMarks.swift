import Glibc

/// A limit on runs of combining marks, the accents and other signs on one letter.
///
/// Swift normalises a text (UAX #15) to hash or compare it, and sorts each run of marks in quadratic time: a name of 80
/// KB of marks costs seconds at every look-up. Written languages use a handful of marks on a letter. The Stream-Safe
/// Text Format (UAX #15, section 13) allows 30; the limit here also admits decorated names. At the limit a byte costs a
/// fifth more than in ordinary accented text.
public enum CombiningMarks {
    /// Maximum marks in a run.
    public static let runLimit = 64

    /// Whether a text contains a run longer than `runLimit`.
    /// - Parameter text: valid UTF-8.
    static func exceedLimit(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        !breaks(in: text, countMax: 1).isEmpty
    }

    /// The text with U+034F (COMBINING GRAPHEME JOINER) inserted into every run that is too long, at the positions of
    /// UAX #15's Stream-Safe Text Process. The text looks the same and keeps all its marks.
    static func separated(_ text: String) -> String {
        var text = text
        let separated = text.withUTF8 { bytes -> [UInt8]? in
            let breaks = breaks(in: bytes)
            guard !breaks.isEmpty else { return nil }
            var output: [UInt8] = []
            output.reserveCapacity(bytes.count + joiner.count * breaks.count)
            var start = 0
            for end in breaks {
                output.append(contentsOf: bytes[start..<end])
                output.append(contentsOf: joiner)
                start = end
            }
            output.append(contentsOf: bytes[start...])
            return output
        }
        return separated.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// U+034F, whose canonical combining class is 0.
    private static let joiner: [UInt8] = [0xCD, 0x8F]
    /// The minimum bytes of a run at the limit: every mark has at least two.
    static let runBytes = 2 * runLimit

    /// The offsets of the first excess mark of each run; the count restarts there.
    private static func breaks(in text: UnsafeBufferPointer<UInt8>, countMax: Int = .max) -> [Int] {
        var breaks: [Int] = []
        var run = 0
        var position = 0
        while position < text.count {
            // A run that exceeds the limit and begins before `place` must reach it, so most of a text is skipped.
            if run == 0 {
                var place = position + runBytes
                guard place < text.count else { break }
                while place > position, text[place] & 0xC0 == 0x80 { place -= 1 }
                let (scalar, length) = scalar(at: place, of: text)
                if !isMark(scalar) {
                    position = place + length
                    continue
                }
            }
            let (scalar, length) = scalar(at: position, of: text)
            run = isMark(scalar) ? run + 1 : 0
            if run > runLimit {
                breaks.append(position)
                guard breaks.count < countMax else { break }
                run = 1
            }
            position += length
        }
        return breaks
    }

    /// The scalar that begins at a position, and its length in bytes. Invalid UTF-8 is not a mark.
    private static func scalar(at position: Int, of text: UnsafeBufferPointer<UInt8>) -> (scalar: Int, length: Int) {
        let lead = Int(text[position])
        if lead < 0xC0 { return (lead, 1) }
        let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        guard position + length <= text.count else { return (0, length) }
        func next(_ offset: Int) -> Int { Int(text[position + offset] & 0x3F) }
        switch length {
        case 2: return ((lead & 0x1F) << 6 | next(1), 2)
        case 3: return ((lead & 0x0F) << 12 | next(1) << 6 | next(2), 3)
        default: return ((lead & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4)
        }
    }

    private static func isMark(_ scalar: Int) -> Bool {
        scalar >= scalarMin && scalar < scalarMax && marks[scalar >> 6] & (1 << UInt64(scalar & 63)) != 0
    }

    /// The lowest mark.
    private static let scalarMin = 0x300
    /// Marks are below this scalar in Unicode 17.
    private static let scalarMax = 0x20000

    /// One bit for each scalar below `scalarMax`: whether it is a mark, or its decomposition begins with one.
    private static let marks: [UInt64] = {
        var marks = [UInt64](repeating: 0, count: scalarMax >> 6)
        for value in scalarMin..<scalarMax {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isMark =
                scalar.properties.canonicalCombiningClass != .notReordered || decomposedToMarks.contains(value)
            if isMark { marks[value >> 6] |= 1 << UInt64(value & 63) }
        }
        return marks
    }()

    /// Three Tibetan vowel signs have class 0 but decompose to two marks.
    private static let decomposedToMarks: Set<Int> = [0xF73, 0xF75, 0xF81]
}

extension String {
    /// Whether the text contains a run of combining marks longer than `CombiningMarks.runLimit`.
    public var exceedsMarkLimit: Bool {
        guard utf8.count > CombiningMarks.runBytes else { return false }
        var text = self
        return text.withUTF8 { CombiningMarks.exceedLimit(in: $0) }
    }

    /// Whether both texts have the same UTF-8 bytes, as JavaScript and SQL compare them. `==` also accepts canonically
    /// equivalent texts, and normalises both.
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let areSame = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { others in
                guard let one = bytes.baseAddress, let other = others.baseAddress else { return true }
                return memcmp(one, other, bytes.count) == 0
            }
        }
        return (areSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
