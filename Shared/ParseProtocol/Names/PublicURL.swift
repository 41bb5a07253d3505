/// The URL at which clients outside reach the gateway: the base of `Location`, of file URLs and of links in mails.
/// Every process derives it from the same settings with this rule.
public struct PublicURL: Sendable, Hashable {
    /// With the mount path, without a trailing slash.
    public let text: String

    /// `SATCHEL_PUBLIC_URL`, else a URL from `SATCHEL_HOST`, `SATCHEL_PORT` and `SATCHEL_MOUNT`.
    /// - Parameter setting: returns the text of a setting, nil when it is not set. An empty one counts as not set.
    public init(setting: (_ key: String) -> String?) {
        func value(_ key: String, _ standard: String) -> String {
            setting(key).flatMap { $0.isEmpty ? nil : $0 } ?? standard
        }
        let address = value("satchel.host", "127.0.0.1")
        let host = address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
        let port = value("satchel.port", "1337")
        let mount = value("satchel.mount", "/parse")
        var url = value("satchel.public.url", "http://\(host):\(port)\(mount)")
        while url.hasSuffix("/") { url.removeLast() }
        text = url
    }
}
