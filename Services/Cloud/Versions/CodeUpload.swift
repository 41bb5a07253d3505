import ParseProtocol
import ServiceKit

/// The validated files of a version sent to `deployCloudCode`: all of them lie in the version's own folder.
package struct CodeUpload: Sendable, Equatable {
    package struct File: Sendable, Equatable {
        /// Relative to the version's folder, with `/`.
        package let path: String
        package let text: String
    }

    /// Sorted by path.
    package let files: [File]

    package static let filesMax = 1000
    /// Maximum bytes of all texts together.
    package static let contentBytesMax = 8 << 20
    private static let pathBytesMax = 512
    private static let nameBytesMax = 200
    private static let depthMax = 12

    /// - Parameter parameters: `files`, an object of texts by path, including `main.js`.
    /// - Throws: `.validationError` (142) for anything else.
    package init(_ parameters: JSON) throws(ParseError) {
        guard let files = parameters["files"]?.objectValue, !files.isEmpty else {
            throw ParseError(.validationError, "files is needed: an object of texts by their paths, such as main.js.")
        }
        guard files.count <= Self.filesMax else {
            throw ParseError(.validationError, "files has \(Self.filesMax) files at most.")
        }
        var found: [File] = []
        var left = Self.contentBytesMax
        for (path, value) in files.sorted(by: { $0.key < $1.key }) {
            guard Self.isPath(path) else {
                throw ParseError(
                    .validationError,
                    """
                    \(path.prefix(100)) is not a file path: names with / between them, none of which begins with a \
                    dot or is longer than \(Self.nameBytesMax) bytes.
                    """)
            }
            guard let text = value.stringValue else {
                throw ParseError(.validationError, "\(path) must be a text.")
            }
            left -= text.utf8.count
            found.append(File(path: path, text: text))
        }
        guard left >= 0 else {
            throw ParseError(.validationError, "files has \(Self.contentBytesMax >> 20) MiB of text at most.")
        }
        guard files["main.js"] != nil else { throw ParseError(.validationError, "files has no main.js.") }
        if let file = found.first(where: { Self.folders(of: $0.path).contains { files[$0] != nil } }) {
            throw ParseError(.validationError, "\(file.path) lies below a path that is a file.")
        }
        self.files = found
    }

    private static func isPath(_ path: String) -> Bool {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        return (1...pathBytesMax).contains(path.utf8.count) && names.count <= depthMax && names.allSatisfy(isName)
    }

    private static func isName(_ name: Substring) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
    }

    /// The folders that contain a file.
    private static func folders(of path: String) -> [String] {
        let names = path.split(separator: "/")
        return (1..<max(names.count, 1)).map { names.prefix($0).joined(separator: "/") }
    }
}
