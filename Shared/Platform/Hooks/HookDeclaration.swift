import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// A validated webhook that an operator declared: a function, or a trigger of a class (PARSE_PROTOCOL section 11.1).
package struct HookDeclaration: Equatable, Sendable {
    /// Empty for a function.
    package let className: String
    /// Name of the function or of the trigger.
    package let name: String
    package let url: String

    package static let triggers = Hook.triggers

    /// Maximum bytes of a URL that browsers and proxies also handle.
    private static let urlBytesMax = 2048

    package var isFunction: Bool { className.isEmpty }

    /// - Throws: `.webhookError` (143) for an invalid declaration.
    package init(_ hook: Hook, needsURL: Bool = true) throws(ParseError) {
        url = hook.url
        className = hook.className
        name = hook.functionName.isEmpty ? hook.triggerName : hook.functionName
        let isTrigger = !hook.className.isEmpty && !hook.triggerName.isEmpty && hook.functionName.isEmpty
        let isFunction = !hook.functionName.isEmpty && hook.className.isEmpty && hook.triggerName.isEmpty
        guard isTrigger || isFunction else { throw Self.invalid() }
        if isTrigger {
            try Self.check(trigger: name, of: className)
        } else if !Self.isFunctionName(name) {
            throw Self.invalid(
                "a function's name has letters, digits, _, - and ., 128 at most, and begins with a letter")
        }
        if needsURL, !Self.isCallable(url) {
            throw Self.invalid(
                "the url must be http or https with a host, without a user, \(Self.urlBytesMax) bytes at most")
        }
    }

    /// Dots separate the parts of a name, as in `shop.prices`. No part may be a name with a special meaning in
    /// JavaScript.
    private static func isFunctionName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return name.utf8.count <= 128 && name.utf8.first.map(Self.isLetter) == true
            && parts.allSatisfy { part in
                !part.isEmpty && !reservedNames.contains(part)
                    && part.utf8.allSatisfy {
                        isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                            || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
                    }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static let reservedNames: Set<Substring> = ["constructor", "prototype", "__proto__"]

    private static func invalid(_ reason: String = "") -> ParseError {
        ParseError(.webhookError, "invalid hook declaration" + (reason.isEmpty ? "" : ": \(reason)"))
    }

    private static func check(trigger: String, of className: String) throws(ParseError) {
        guard triggers.contains(trigger) else { throw invalid("there is no trigger \(trigger.prefix(64))") }
        guard Names.isClassName(className) else {
            throw invalid("triggers of \(className.prefix(128)) are not possible")
        }
        switch (className, trigger) {
        case ("_User", "beforeLogin"), ("_User", "afterLogin"), ("_User", "beforePasswordResetRequest"),
            ("_Session", "afterLogout"):
            return
        case (_, "beforeLogin"), (_, "afterLogin"):
            throw invalid("Only the _User class is allowed for the beforeLogin and afterLogin triggers.")
        case (_, "beforePasswordResetRequest"):
            throw invalid("Only the _User class is allowed for the beforePasswordResetRequest trigger.")
        case (_, "afterLogout"): throw invalid("Only the _Session class is allowed for the afterLogout trigger.")
        case ("_Session", _): throw invalid("Only the afterLogout trigger is allowed for the _Session class.")
        default: return
        }
    }

    private static func isCallable(_ text: String) -> Bool {
        guard (1...urlBytesMax).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URL(string: text), url.scheme == "http" || url.scheme == "https",
            url.host?.isEmpty == false, url.user == nil, url.password == nil, url.fragment == nil
        else { return false }
        return true
    }
}
