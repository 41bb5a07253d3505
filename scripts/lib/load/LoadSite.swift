import Foundation
import NIOCore
import SuiteClient

/// The suite under load, at any address.
struct LoadSite: Site {
    let host: String
    let port: Int
    let mount: String
    let applicationId: String
    /// Whether each shopper sends a different address in X-Forwarded-For. The suite uses it only if this machine is in
    /// SATCHEL_TRUSTED_PROXIES.
    let namesAddresses: Bool
    private let resolved: SocketAddress

    /// - Throws: `LoadError` for a URL that is not HTTP, or whose host has no address.
    init(url: String, applicationId: String, namesAddresses: Bool) throws {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let host = parts.host, !host.isEmpty,
            parts.query == nil
        else { throw LoadError("\"\(url)\" must be a URL of the form http://host:port/parse.") }
        var path = parts.path
        while path.hasSuffix("/") { path.removeLast() }
        // URLComponents keeps the brackets of an IPv6 address.
        self.host = host
        port = parts.port ?? 80
        mount = path
        self.applicationId = applicationId
        self.namesAddresses = namesAddresses
        do {
            let name = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
            resolved = try SocketAddress.makeAddressResolvingHost(name, port: port)
        } catch { throw LoadError("\(host) has no address: \(error)") }
    }

    func address() throws -> SocketAddress { resolved }

    /// The address of a shopper, in the shared address space 100.64.0.0/10 (RFC 6598).
    static func address(ofShopper number: Int) -> String {
        let bits = UInt32(truncatingIfNeeded: number) & 0x3F_FFFF
        return "100.\(64 + (bits >> 16)).\((bits >> 8) & 0xFF).\(bits & 0xFF)"
    }
}
