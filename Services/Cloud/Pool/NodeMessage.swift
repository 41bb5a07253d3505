import Messages
import ParseProtocol

/// A message from a Node process (Services/Cloud/Runtime/README.md).
package enum NodeMessage: Equatable {
    /// The code is loaded, or loading failed.
    case loaded(LoadedCode, problem: CodeFailure?)
    /// The result of a call, as JSON.
    case done(PoolMachine.RunID, [UInt8])
    case failed(PoolMachine.RunID, CodeFailure)
    /// A request of the code, with its number; `run` is nil outside of any call.
    case ask(Int64, run: PoolMachine.RunID?, text: [UInt8])
    case log(run: PoolMachine.RunID?, level: String, text: String)
    /// A refused request: it is nested too deeply or has too many values.
    case unreadableAsk(Int64, run: PoolMachine.RunID?)
    /// A refused log line.
    case unreadableLine
    /// The answer to a ping.
    case pong
    /// A job's progress message.
    case progress(PoolMachine.RunID, String)

    /// The frame violates the protocol.
    package struct Malformed: Error, Equatable {}

    /// - Throws: `Malformed`.
    package init(frame: [UInt8]) throws(Malformed) {
        guard let json = try? JSON(parsing: frame) else {
            self = try Self.unreadable(frame)
            return
        }
        let run = Self.id(json["run"])
        switch json["t"]?.stringValue {
        case "loaded":
            let problem = json["error"].flatMap { $0.isNull ? nil : CodeFailure($0) }
            self = .loaded(LoadedCode(json), problem: problem)
        case "done":
            guard let id = Self.id(json["id"]) else { throw Malformed() }
            self = .done(id, json["result"]?.serialized ?? [])
        case "failed":
            guard let id = Self.id(json["id"]) else { throw Malformed() }
            self = .failed(id, CodeFailure(json["error"] ?? .null))
        case "ask":
            guard let number = json["ask"]?.intValue else { throw Malformed() }
            self = .ask(number, run: run, text: frame)
        case "log":
            self = .log(
                run: run, level: json["level"]?.stringValue ?? "info", text: json["text"]?.stringValue ?? "")
        case "pong": self = .pong
        case "progress":
            guard let id = Self.id(json["id"]) else { throw Malformed() }
            self = .progress(id, json["message"]?.stringValue ?? "")
        default: throw Malformed()
        }
    }

    private static func id(_ value: JSON?) -> PoolMachine.RunID? {
        value?.intValue.flatMap(PoolMachine.RunID.init(exactly:))
    }

    /// An unreadable frame fails only its own call or request: the short members are read separately.
    private static func unreadable(_ frame: [UInt8]) throws(Malformed) -> NodeMessage {
        let members = Self.members(of: frame)
        let number = members["id"].flatMap { PoolMachine.RunID($0) }
        switch members["t"] {
        case "\"done\"":
            guard let number else { throw Malformed() }
            return .failed(
                number, CodeFailure(message: "The result is nested too deep, has too many values or is not JSON."))
        case "\"ask\"":
            guard let ask = members["ask"].flatMap({ Int64($0) }) else { throw Malformed() }
            return .unreadableAsk(ask, run: members["run"].flatMap { PoolMachine.RunID($0) })
        case "\"log\"": return .unreadableLine
        default: throw Malformed()
        }
    }

    /// The short members of a frame, as raw text.
    private static func members(of frame: [UInt8]) -> [String: String] {
        frame.withUnsafeBufferPointer { bytes in
            var found: [String: String] = [:]
            for member in JSONMembers.scan(bytes) ?? [] where member.name.count <= 20 && member.value.count <= 20 {
                found[String(decoding: bytes[member.name], as: UTF8.self)] = String(
                    decoding: bytes[member.value], as: UTF8.self)
            }
            return found
        }
    }
}

/// The definitions of a version of the code; each of its processes sends the same.
package struct LoadedCode: Equatable, Sendable {
    package var definitions: CodeDefinitions
    package var rateLimits: [CodeRateLimits.Rule]

    package init(definitions: CodeDefinitions, rateLimits: [CodeRateLimits.Rule] = []) {
        self.definitions = definitions
        self.rateLimits = rateLimits
    }

    /// - Parameter json: the frame `loaded`.
    init(_ json: JSON) {
        func names(_ key: String) -> [String] {
            Set((json[key]?.arrayValue ?? []).compactMap(\.stringValue)).sorted()
        }
        definitions = .with {
            $0.functions = names("functions")
            $0.jobs = names("jobs")
            $0.triggers = (json["triggers"]?.arrayValue ?? []).map { trigger in
                .with {
                    $0.triggerName = trigger["trigger"]?.stringValue ?? ""
                    $0.className = trigger["className"]?.stringValue ?? ""
                }
            }
        }
        rateLimits = (json["rateLimits"]?.arrayValue ?? []).compactMap(CodeRateLimits.Rule.init)
    }
}

/// The error with which code ended.
package struct CodeFailure: Error, Equatable, Sendable {
    /// A Parse error code.
    package var code = ParseError.Code.scriptFailed.rawValue
    /// The text for the client.
    package var message: String
    /// For the log.
    package var stack = ""

    package init(message: String) { self.message = message }

    /// - Parameter error: `code`, `message` and `stack`, each optional.
    init(_ error: JSON) {
        message = error["message"]?.stringValue ?? "The cloud code failed."
        if let code = error["code"]?.intValue { self.code = Int(code) }
        stack = error["stack"]?.stringValue ?? ""
    }
}
