/// Names of files: the client's name, and the name under which the file is stored and served.
public enum FileNames {
    /// Checks a client's name: `^[_a-zA-Z0-9][a-zA-Z0-9@. ~_-]*$`, at most 128 bytes.
    /// - Throws: `.invalidFileName` (122).
    public static func check(_ name: some StringProtocol) throws(ParseError) {
        guard name.utf8.count <= 128 else { throw ParseError(.invalidFileName, "Filename too long.") }
        guard let first = name.utf8.first, isWordByte(first), name.utf8.allSatisfy(isNameByte) else {
            throw ParseError(.invalidFileName, "Filename contains invalid characters.")
        }
    }

    /// The stored name of a new file: 128 random bits in hexadecimal digits, so that the URL cannot be guessed; then
    /// `_`, or `-` for a private file; `~` for a photo of an account that the storefront stores; then the client's
    /// name, which downloads show.
    /// - Parameter digits: the 32 random digits; nil for new ones.
    public static func storedName(
        _ name: String, isPrivate: Bool = false, isAccountPhoto: Bool = false, digits: String? = nil
    ) -> String {
        (digits ?? Hex.random(bytes: 16)) + (isPrivate ? "-" : "_") + (isAccountPhoto ? "~" : "") + name
    }

    /// Whether a name has the form of `storedName`. Such a name is also safe as the last component of a path.
    public static func isStoredName(_ name: some StringProtocol) -> Bool {
        let bytes = Array(name.utf8.prefix(34))
        return bytes.count == 34 && name.utf8.count <= 255
            && (bytes[32] == UInt8(ascii: "_") || bytes[32] == UInt8(ascii: "-"))
            && bytes[..<32].allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
            && name.utf8.allSatisfy(isNameByte)
    }

    /// Whether the file of a stored name needs a signed URL.
    public static func isPrivate(_ name: some StringProtocol) -> Bool {
        name.utf8.dropFirst(32).first == UInt8(ascii: "-")
    }

    /// Whether a name is the stored one of a photo of an account. A client's name cannot begin with the mark (`check`).
    public static func isAccountPhoto(_ name: some StringProtocol) -> Bool { isStoredName(name) && hasPhotoMark(name) }

    private static func hasPhotoMark(_ name: some StringProtocol) -> Bool {
        name.utf8.dropFirst(32).starts(with: "_~".utf8)
    }

    /// The client's part of a stored name.
    public static func original(_ name: some StringProtocol) -> String {
        String(name.dropFirst(hasPhotoMark(name) ? 34 : 33))
    }

    /// The `Content-Disposition` of a download: types that browsers display safely are shown inline, all others are
    /// saved.
    /// - Parameter contentType: without parameters.
    public static func disposition(_ name: some StringProtocol, contentType: String) -> String {
        let isShown = contentType.hasPrefix("image/") || contentType == "application/pdf" || contentType == "text/plain"
        // The name consists of letters, digits and a few characters that need no escape.
        return "\(isShown ? "inline" : "attachment"); filename=\"\(original(name))\""
    }

    /// The `Content-Type` of a download.
    public static func shownType(_ contentType: String) -> String {
        contentType == "text/plain" ? "text/plain; charset=utf-8" : contentType
    }

    /// Whether a name may contain the byte.
    @inlinable public static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."),
            UInt8(ascii: " "), UInt8(ascii: "~"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || isDigit(byte) || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
