import Foundation
import ParseProtocol

/// A name that somebody shows to everybody.
package struct PublicName: Sendable, Equatable {
    package static let charactersMax = 50
    /// A character may be made of many marks.
    private static let bytesMax = 200

    package let text: String

    /// Nil for what is empty, too long, or more than a line of text.
    package init?(_ text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        guard (1...Self.charactersMax).contains(trimmed.count), trimmed.utf8.count <= Self.bytesMax,
            trimmed.unicodeScalars.allSatisfy(Self.isPlain)
        else { return nil }
        self.text = trimmed
    }

    /// Marks that turn the direction of what follows would change how the rest of a page reads.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        case .format: scalar.value == 0x200C || scalar.value == 0x200D  // Joiners, which words and emoji need.
        default: true
        }
    }
}
