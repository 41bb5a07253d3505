import Foundation
import ParseProtocol

/// A validated name that users show in public.
package struct PublicName: Sendable, Equatable {
    package static let charactersMax = 50
    /// One character may consist of many combining marks.
    private static let bytesMax = 200

    package let text: String

    /// Nil for a text that is empty, too long, or not a single line.
    package init?(_ text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        guard (1...Self.charactersMax).contains(trimmed.count), trimmed.utf8.count <= Self.bytesMax,
            Self.isPlain(trimmed)
        else { return nil }
        self.text = trimmed
    }

    private static func isPlain(_ text: String) -> Bool {
        var joining = JoiningMarks()
        return text.unicodeScalars.allSatisfy { joining.keeps($0) || isPlain($0) }
    }

    /// Marks that change the text direction would distort the rest of a page.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        case .format: scalar.value == 0x200C || scalar.value == 0x200D  // Joiners, which words and emoji need.
        default: true
        }
    }
}
