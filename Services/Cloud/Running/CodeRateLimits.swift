import Messages
import ParseProtocol

/// The rate limits in the validators of one version of the code, with the counted calls. In memory: each replica counts
/// its own calls, and a new version starts with empty counts. No I/O.
package struct CodeRateLimits: Sendable {
    /// The limit of one function or trigger.
    package struct Rule: Equatable, Sendable {
        /// The clients whose calls are counted together. Without a user or a session, the network is used.
        enum Zone: String {
            case ip, user, session, global
        }

        let name: String
        /// The trigger's class; empty for a function.
        let className: String
        let count: Int
        let window: Duration
        let message: String
        /// The HTTP methods that count; empty for all.
        let methods: Set<String>
        let zone: Zone
        let includesMaster: Bool
        /// Whether calls by cloud code itself count.
        let includesInternal: Bool

        /// One day in milliseconds, as in the runtime's rules.js.
        private static let windowMax: Int64 = 86_400_000

        /// - Parameter json: an element of `rateLimits` in the frame `loaded`; nil for anything else.
        package init?(_ json: JSON) {
            guard let name = json["name"]?.stringValue,
                let count = json["count"]?.intValue, (1...100_000).contains(count),
                let window = json["window"]?.intValue, (1...Self.windowMax).contains(window)
            else { return nil }
            self.name = name
            className = json["className"]?.stringValue ?? ""
            self.count = Int(count)
            self.window = .milliseconds(window)
            message = json["message"]?.stringValue ?? "Too many requests."
            methods = Set((json["methods"]?.arrayValue ?? []).compactMap(\.stringValue))
            zone = json["zone"]?.stringValue.flatMap(Zone.init) ?? .ip
            includesMaster = json["includesMaster"] == true
            includesInternal = json["includesInternal"] == true
        }
    }

    /// A call of a function or a trigger.
    package struct Call: Sendable {
        let name: String
        let className: String
        let isInternal: Bool
        let principal: Principal
        /// The call as passed to the runtime.
        let text: [UInt8]

        package init(_ message: RunCode, _ principal: Principal, text: [UInt8]) {
            name = message.name
            className = message.className
            isInternal = message.depth > 0
            self.principal = principal
            self.text = text
        }

        /// The method of the client's request, inferred from the call.
        fileprivate var method: String {
            switch name {
            case _ where className.isEmpty: "POST"
            case "beforeSave": writesAnother ? "PUT" : "POST"
            case "beforeDelete", "beforeDeleteFile": "DELETE"
            case "beforeFind": "GET"
            default: "POST"
            }
        }

        /// Whether the object of a beforeSave is already stored (an update).
        private var writesAnother: Bool {
            text.withUnsafeBufferPointer { bytes in
                (JSONMembers.scan(bytes) ?? []).contains { bytes[$0.name].elementsEqual("original".utf8) }
            }
        }
    }

    private struct Key: Hashable {
        let name: String
        let className: String
    }

    private var rules: [Rule] = []
    private var limits: [Key: (rule: Rule, buckets: RateBuckets)] = [:]

    package init() {}

    /// Replaces the rules. If they differ from the current ones, all counts restart.
    package mutating func replace(by rules: [Rule]) {
        guard rules != self.rules else { return }
        self.rules = rules
        limits = [:]
        for rule in rules {
            limits[Key(name: rule.name, className: rule.className)] = (
                rule, RateBuckets(count: rule.count, window: rule.window)
            )
        }
    }

    /// Counts a call, unless it is refused.
    /// - Parameter now: nanoseconds of a monotonic clock.
    package mutating func refusal(of call: Call, at now: Int64) -> ParseError? {
        let key = Key(name: call.name, className: call.className)
        guard let (rule, _) = limits[key], rule.includesMaster || !call.principal.master,
            rule.includesInternal || !call.isInternal, rule.methods.isEmpty || rule.methods.contains(call.method)
        else { return nil }
        let client = Self.client(call.principal, rule.zone)
        let wait = limits[key]?.buckets.wait(for: client, at: now) ?? 0
        guard wait > 0 else {
            limits[key]?.buckets.take(from: client, at: now)
            return nil
        }
        var refusal = ParseError(.connectionFailed, rule.message)
        refusal.retryAfterSeconds = Int(wait / 1_000_000_000) + 1
        return refusal
    }

    private static func client(_ principal: Principal, _ zone: Rule.Zone) -> Int {
        var hasher = Hasher()
        switch zone {
        case .user where !principal.userID.isEmpty: hasher.combine(principal.userID)
        case .session where !principal.sessionToken.isEmpty: hasher.combine(principal.sessionToken)
        case .global: hasher.combine(0)
        case .ip, .user, .session: hasher.combine(principal.network)
        }
        return hasher.finalize()
    }
}
