/// The options of a command: `--name value` or `--name=value`, and `--name` alone for a flag.
struct Arguments {
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    /// - Parameters:
    ///   - words: the words after the command's name.
    ///   - options: names of the command's options, each with a value.
    ///   - flags: names of options without a value.
    /// - Throws: `SetupError.invalid` for an unknown or repeated word, and for a missing value.
    init(
        _ words: some Sequence<String>, options: Set<String>, flags: Set<String> = []
    ) throws(SetupError) {
        var words = words.makeIterator()
        while let word = words.next() {
            guard word.hasPrefix("--") else { throw .invalid("\"\(word)\" is not an option.") }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if flags.contains(name), parts.count == 1 {
                self.flags.insert(name)
                continue
            }
            guard options.contains(name) else { throw .invalid("There is no option \(word).") }
            guard values[name] == nil else { throw .invalid("--\(name) is given twice.") }
            guard let value = parts.count > 1 ? String(parts[1]) : words.next() else {
                throw .invalid("--\(name) needs a value.")
            }
            values[name] = value
        }
    }

    /// The value of an option; nil when it is absent.
    subscript(name: String) -> String? { values[name] }

    /// - Throws: `SetupError.invalid` when the option is absent.
    func required(_ name: String) throws(SetupError) -> String {
        guard let value = values[name] else { throw .invalid("--\(name) is missing.") }
        return value
    }

    /// Whether a flag is present.
    func has(_ flag: String) -> Bool { flags.contains(flag) }
}
