import Synchronization

/// Random identifiers, and the rules for names that a client may choose.
public enum Names {
    /// A new objectId: ten letters and digits, as in Parse. The first two encode the time of creation, the other eight
    /// are random.
    ///
    /// Objects that are created together are thus close together in the index of ids; otherwise a commit would write
    /// another index page for each object. The two characters repeat every four minutes: they reveal less than
    /// `createdAt`, and a million objects have two pages of the index for each of the 3,844 prefixes.
    public static func objectId() -> String { objectId(at: .now) }

    package static func objectId(at moment: Timestamp) -> String {
        let turn = Int(truncatingIfNeeded: UInt64(bitPattern: moment.milliseconds) / turnMilliseconds % turns)
        return drawn.withLock {
            text(beginningWith: [alphabet[turn / 62], alphabet[turn % 62]], random: 8, from: &$0)
        }
    }

    /// Every create uses a number, so numbers are fetched in batches. Secrets do not use these numbers.
    private static let drawn = Mutex(DrawnNumbers())
    /// The period of one prefix. It is short enough that thousands of creates per second use only a few index pages at
    /// a time.
    private static let turnMilliseconds: UInt64 = 64
    /// The number of different texts of two characters.
    private static let turns: UInt64 = 62 * 62

    /// A text of `count` random letters and digits from the system's secure generator.
    public static func random(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return text(beginningWith: [], random: count, from: &generator)
    }

    private static func text(
        beginningWith start: [UInt8], random count: Int, from generator: inout some RandomNumberGenerator
    ) -> String {
        var characters = start
        let count = start.count + count
        characters.reserveCapacity(count + 9)
        while characters.count < count {
            // One number contains ten characters.
            var number = UInt64.random(in: 0..<tenCharacters, using: &generator)
            for _ in 0..<10 {
                characters.append(alphabet[Int(number % 62)])
                number /= 62
            }
        }
        return String(decoding: characters.prefix(count), as: UTF8.self)
    }

    /// `^[A-Za-z][A-Za-z0-9_]*$`, at most 128 characters, or one of the built-in classes.
    public static func isClassName(_ name: String) -> Bool { isIdentifier(name) || builtInClasses.contains(name) }

    /// `^[A-Za-z][A-Za-z0-9_]*$`, at most 128 characters.
    public static func isIdentifier(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= 128, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Whether a client may write the field: an identifier that the protocol does not reserve.
    public static func isFieldName(_ name: String) -> Bool {
        isIdentifier(name) && name != "className" && name != "length" && name != "constructor"
    }

    /// Whether a client may send the objectId: 1 to 64 letters, digits, `_` or `-`. Never a principal such as `role:x`
    /// or `*`.
    public static func isObjectId(_ id: String) -> Bool {
        let bytes = id.utf8
        return (1...64).contains(bytes.count)
            && bytes.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    /// Classes with a leading underscore that clients may name (PARSE_PROTOCOL section 8).
    public static let builtInClasses: Set<String> = ["_User", "_Session", "_Role", "_Installation", "_Product"]

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    /// 62^10, the number of different texts of ten characters.
    private static let tenCharacters: UInt64 = 839_299_365_868_340_224

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
