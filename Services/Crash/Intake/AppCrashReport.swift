import ParseProtocol

/// The crash report of hosted Parse's SDKs, `events/_CrashReport {"at":Date,"breakpadDump":{…}}`, converted to a Sentry
/// event. The dump is a set of texts in the SDK's own format; it is stored unchanged, and each reason is one issue.
package enum AppCrashReport {
    /// Members in which a dump may name the reason of the crash.
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
