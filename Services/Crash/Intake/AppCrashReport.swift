import ParseProtocol

/// The crash report of hosted Parse's SDKs, `events/_CrashReport {"at":Date,"breakpadDump":{…}}`, as an event like
/// Sentry's. The dump is a set of texts that only its maker reads: it is kept as it is, and one reason is one issue.
package enum AppCrashReport {
    /// Names under which a dump may say in words what happened.
    private static let reasons = ["reason", "exception_reason", "error", "message", "signal", "exception"]
    private static let versions = ["app_version", "appVersion", "ver", "version"]

    package static func event(_ body: JSON) -> JSON {
        let dump = body["breakpadDump"] ?? [:]
        func text(_ names: [String]) -> String? {
            names.lazy.compactMap { dump[$0]?.stringValue }.first { !$0.isEmpty }
        }
        var event: JSON = [
            "platform": "native", "level": "fatal",
            "exception": ["values": [["type": "CrashReport", "value": .string(text(reasons) ?? "")]]],
            "extra": ["breakpadDump": dump],
        ]
        event["timestamp"] = body["at"]?["iso"] ?? body["at"]
        event["release"] = text(versions).map(JSON.string)
        return event
    }
}
