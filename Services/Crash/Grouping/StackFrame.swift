import ParseProtocol

/// One call of a stack trace, reduced to the parts that are stable across builds and devices.
package struct StackFrame: Hashable, Sendable {
    /// Module, class or file; empty when unknown.
    let place: String
    let function: String
    let isInApp: Bool

    /// Nil for a frame with only addresses and without the name of its binary.
    init?(_ frame: JSON) {
        let function = StackFrame.stableFunction(frame["function"]?.stringValue ?? "")
        let place =
            [frame["module"], frame["filename"], frame["abs_path"], frame["package"]].lazy
            .compactMap { $0?.stringValue }.first { !$0.isEmpty && $0 != "<unknown>" } ?? ""
        self.function = function
        self.place = frame["module"]?.stringValue.map(StackFrame.stableModule) ?? StackFrame.stableFile(place)
        isInApp = frame["in_app"]?.boolValue ?? false
        if self.place.isEmpty, function.isEmpty { return nil }
    }

    /// A readable form: `shop.bag in add`.
    var text: String {
        switch (place.isEmpty, function.isEmpty) {
        case (false, false): "\(place) in \(function)"
        case (false, true): place
        default: function
        }
    }

    /// Maximum length of an inspected name; a generated one may have kilobytes.
    private static let nameMax = 300

    /// Removes addresses and the numbers that compilers give to closures and lambdas, which change with every edit.
    private static func stableFunction(_ name: String) -> String {
        if name == "?" || name == "<unknown>" || name == "<redacted>" { return "" }
        return String(MessagePattern.withoutVariables(String(name.prefix(nameMax))))
    }

    /// `com.shop.Bag$$Lambda$14/0x0000000800c8a440` becomes `com.shop.Bag$$Lambda`.
    private static func stableModule(_ name: String) -> String {
        let name = String(name.prefix(nameMax))
        guard let lambda = name.firstRange(of: "$$Lambda") else { return MessagePattern.withoutVariables(name) }
        return String(name[..<lambda.upperBound])
    }

    /// The last two path components, without a query and without the hash that bundlers add to names:
    /// `/var/…/Shop.app/Shop` becomes `Shop.app/Shop`, `https://cdn.example/js/main.3f2a9c1b.js?v=3` becomes
    /// `js/main.js`.
    private static func stableFile(_ path: String) -> String {
        let path = path.prefix(2000).prefix { $0 != "?" && $0 != "#" }
        let parts = path.split(whereSeparator: { $0 == "/" || $0 == "\\" }).suffix(2)
        return parts.map { part in
            part.split(separator: ".").filter { !isHash($0) }.joined(separator: ".")
        }.joined(separator: "/")
    }

    /// Eight or more hexadecimal digits, at least one of them from 0 to 9.
    private static func isHash(_ part: Substring) -> Bool {
        part.utf8.count >= 8 && part.allSatisfy(\.isHexDigit) && part.contains(where: \.isNumber)
    }
}
