import CPCRE2
import ParseProtocol

/// A compiled `$regex`, run by PCRE2 under limits.
///
/// A match that reaches the step limit counts as no match: an error would reveal information about objects that the
/// caller may not read.
///
/// PCRE2 counts steps for each start position, and one step can scan the whole text. A match with a long worst case
/// therefore runs a second form of the pattern, which checks the clock between the pattern's items.
final class Regex {
    static let patternBytesMax = 1000
    /// Step limit per start position (PCRE2 allows 10,000,000).
    private static let stepsMax = 100_000
    private static let depthMax: UInt32 = 2_000
    private static let heapKibibytesMax: UInt32 = 2_048
    /// Limit of bytes that the steps of an uninterruptible match may read: about 20 ms.
    static let uninterruptedBytesMax = 20_000_000
    /// With fewer steps a match is hardly ever decided.
    private static let stepsMin = 8

    let pattern: String
    let options: String
    private let flags: UInt32
    private let code: OpaquePointer
    private let matchData: OpaquePointer
    private let context: OpaquePointer
    /// The form of the pattern with a callout before each item; compiled for the first match that needs it.
    private var interruptible: OpaquePointer?
    private let isAnchored: Bool
    private let isLiteral: Bool
    private let uninterruptedMax: Int

    /// - Parameter uninterruptedMax: see `uninterruptedBytesMax`; tests use it to compare both forms.
    /// - Throws: `.invalidQuery` (102) for a pattern that is too long or invalid, and for unknown options.
    init(pattern: String, options: String = "", uninterruptedMax: Int = Regex.uninterruptedBytesMax) throws {
        guard pattern.utf8.count <= Regex.patternBytesMax else {
            throw ParseError(.invalidQuery, "A $regex may have at most \(Regex.patternBytesMax) bytes.")
        }
        let flags = try Regex.flags(options)
        guard let code = Regex.compile(pattern, flags) else {
            throw ParseError(.invalidQuery, "The $regex is not a valid regular expression.")
        }
        guard let data = pcre2_match_data_create_8(1, nil) else {
            pcre2_code_free_8(code)
            throw ParseError.internalError
        }
        guard let context = pcre2_match_context_create_8(nil) else {
            pcre2_match_data_free_8(data)
            pcre2_code_free_8(code)
            throw ParseError.internalError
        }
        pcre2_set_depth_limit_8(context, Regex.depthMax)
        pcre2_set_heap_limit_8(context, Regex.heapKibibytesMax)
        var compiledOptions: UInt32 = 0
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_ALLOPTIONS), &compiledOptions)
        self.pattern = pattern
        self.options = options
        self.flags = flags
        self.code = code
        self.matchData = data
        self.context = context
        isAnchored = compiledOptions & UInt32(PCRE2_ANCHORED) != 0
        isLiteral = TextIndex.literal(of: pattern, options: options) != nil
        self.uninterruptedMax = uninterruptedMax
    }

    deinit {
        pcre2_match_context_free_8(context)
        pcre2_match_data_free_8(matchData)
        pcre2_code_free_8(code)
        pcre2_code_free_8(interruptible)
    }

    private static func flags(_ options: String) throws -> UInt32 {
        var flags = UInt32(PCRE2_UTF) | UInt32(PCRE2_NEVER_BACKSLASH_C)
        for option in options {
            switch option {
            case "i": flags |= UInt32(PCRE2_CASELESS)
            case "m": flags |= UInt32(PCRE2_MULTILINE)
            case "s": flags |= UInt32(PCRE2_DOTALL)
            case "x": flags |= UInt32(PCRE2_EXTENDED)
            // Texts are always Unicode; this extends \w, \d and \b to all of it.
            case "u": flags |= UInt32(PCRE2_UCP)
            default: throw ParseError(.invalidQuery, "Bad $options value for query: \(options)")
            }
        }
        return flags
    }

    private static func compile(_ pattern: String, _ flags: UInt32) -> OpaquePointer? {
        var errorCode: Int32 = 0
        var errorOffset = 0
        // The zero gives an empty pattern an address, too.
        return (Array(pattern.utf8) + [0]).withUnsafeBufferPointer { bytes in
            pcre2_compile_8(bytes.baseAddress, bytes.count - 1, flags, &errorCode, &errorOffset, nil)
        }
    }

    // MARK: Matching

    /// - Throws: `WorkInterrupted` when the clock ends the match.
    func matches(_ text: UnsafeBufferPointer<UInt8>, _ clock: some WorkClock) throws(WorkInterrupted) -> Bool {
        let checked = Regex.isASCII(text) ? UInt32(PCRE2_NO_UTF_CHECK) : 0
        let steps = uninterruptedSteps(text.count)
        if steps >= Regex.stepsMin {
            pcre2_set_match_limit_8(context, UInt32(steps))
            let found = pcre2_match_8(code, text.baseAddress, text.count, 0, checked, matchData, context)
            guard found == PCRE2_ERROR_MATCHLIMIT, steps < Regex.stepsMax else { return found >= 0 }
        }
        return try matchesInterruptibly(text, checked, clock)
    }

    func matches(_ text: String, _ clock: some WorkClock) throws(WorkInterrupted) -> Bool {
        var text = text
        // `withUTF8` has no typed errors.
        let result = text.withUTF8 { bytes in
            Result { () throws(WorkInterrupted) in try matches(bytes, clock) }
        }
        return try result.get()
    }

    /// The number of steps per start position with which the match reads at most `uninterruptedMax` bytes, for any
    /// pattern.
    private func uninterruptedSteps(_ count: Int) -> Int {
        // A literal reads only as many bytes as its own length.
        if isLiteral { return pattern.utf8.count * count <= uninterruptedMax ? Regex.stepsMax : 0 }
        let starts = isAnchored ? 1 : count + 1
        return min(Regex.stepsMax, uninterruptedMax / (starts * (count + 1)))
    }

    private func matchesInterruptibly(
        _ text: UnsafeBufferPointer<UInt8>, _ checked: UInt32, _ clock: some WorkClock
    ) throws(WorkInterrupted) -> Bool {
        if interruptible == nil { interruptible = Regex.compile(pattern, flags | UInt32(PCRE2_AUTO_CALLOUT)) }
        // Callouts enlarge a pattern; the largest patterns then exceed PCRE2's limit.
        guard let interruptible else { return false }
        pcre2_set_match_limit_8(context, UInt32(Regex.stepsMax))
        var callouts = MatchCallouts(clock, textBytes: text.count)
        let found = withUnsafeMutablePointer(to: &callouts) { callouts in
            pcre2_set_callout_8(
                context,
                { _, callouts in
                    callouts?.assumingMemoryBound(to: MatchCallouts.self).pointee.mayGoOn == false
                        ? PCRE2_ERROR_CALLOUT : 0
                }, callouts)
            defer { pcre2_set_callout_8(context, nil, nil) }
            return pcre2_match_8(interruptible, text.baseAddress, text.count, 0, checked, matchData, context)
        }
        guard found != PCRE2_ERROR_CALLOUT else { throw WorkInterrupted() }
        return found >= 0
    }

    /// Whether the text is ASCII. PCRE2 then needs no encoding check, which takes longer than this function.
    private static func isASCII(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(text)
        var place = 0
        while place + 8 <= bytes.count {
            if bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
            place += 8
        }
        return bytes[place...].allSatisfy { $0 < 0x80 }
    }
}

/// The callouts of one match. They check the clock each time that the items since the last check may have read
/// `bytesPerLook` bytes.
private struct MatchCallouts {
    private static let bytesPerLook = 200_000
    /// Minimum number of items between two checks.
    private static let itemsPerLook = 8

    private let clock: any WorkClock
    private let weight: Int
    private var bytes = 0

    init(_ clock: any WorkClock, textBytes: Int) {
        self.clock = clock
        weight = min(64 + textBytes, Self.bytesPerLook / Self.itemsPerLook)
    }

    var mayGoOn: Bool {
        mutating get {
            bytes += weight
            guard bytes >= Self.bytesPerLook else { return true }
            bytes = 0
            return !clock.isOver
        }
    }
}
