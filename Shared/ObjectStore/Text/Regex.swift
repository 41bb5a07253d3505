import CPCRE2
import ParseProtocol

/// A compiled `$regex`, run by PCRE2 under limits.
///
/// A match that reaches a limit counts as no match: an error would tell the caller something about objects
/// the caller may not read. The reader's time limit ends a query with many such matches.
final class Regex {
    static let patternBytesMax = 1000
    /// Steps of one match (PCRE2 allows 10,000,000), some milliseconds of work at most.
    private static let stepsMax: UInt32 = 100_000
    private static let depthMax: UInt32 = 2_000
    private static let heapKibibytesMax: UInt32 = 2_048

    let pattern: String
    let options: String
    private let code: OpaquePointer
    private let matchData: OpaquePointer
    private let context: OpaquePointer

    /// - Throws: `.invalidQuery` (102) for a pattern that is too long or not valid, and for unknown options.
    init(pattern: String, options: String = "") throws {
        guard pattern.utf8.count <= Regex.patternBytesMax else {
            throw ParseError(.invalidQuery, "A $regex may have at most \(Regex.patternBytesMax) bytes.")
        }
        var flags = UInt32(PCRE2_UTF) | UInt32(PCRE2_NEVER_BACKSLASH_C)
        for option in options {
            switch option {
            case "i": flags |= UInt32(PCRE2_CASELESS)
            case "m": flags |= UInt32(PCRE2_MULTILINE)
            case "s": flags |= UInt32(PCRE2_DOTALL)
            case "x": flags |= UInt32(PCRE2_EXTENDED)
            // Texts are Unicode in any case; this makes \w, \d and \b know all of it.
            case "u": flags |= UInt32(PCRE2_UCP)
            default: throw ParseError(.invalidQuery, "Bad $options value for query: \(options)")
            }
        }
        var errorCode: Int32 = 0
        var errorOffset = 0
        // The zero is there so that an empty pattern has an address, too.
        let compiled = (Array(pattern.utf8) + [0]).withUnsafeBufferPointer { bytes in
            pcre2_compile_8(bytes.baseAddress, bytes.count - 1, flags, &errorCode, &errorOffset, nil)
        }
        guard let compiled else { throw ParseError(.invalidQuery, "The $regex is not a valid regular expression.") }
        guard let data = pcre2_match_data_create_8(1, nil) else {
            pcre2_code_free_8(compiled)
            throw ParseError.internalError
        }
        guard let context = pcre2_match_context_create_8(nil) else {
            pcre2_match_data_free_8(data)
            pcre2_code_free_8(compiled)
            throw ParseError.internalError
        }
        pcre2_set_match_limit_8(context, Regex.stepsMax)
        pcre2_set_depth_limit_8(context, Regex.depthMax)
        pcre2_set_heap_limit_8(context, Regex.heapKibibytesMax)
        self.pattern = pattern
        self.options = options
        self.code = compiled
        self.matchData = data
        self.context = context
    }

    deinit {
        pcre2_match_context_free_8(context)
        pcre2_match_data_free_8(matchData)
        pcre2_code_free_8(code)
    }

    func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        pcre2_match_8(code, text.baseAddress, text.count, 0, 0, matchData, context) >= 0
    }

    func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(matches)
    }
}
