import NIOCore

/// A suite from its clients' point of view: an address, and the headers that clients send there.
package protocol Site: Sendable {
    /// The name or address in the header `Host`.
    var host: String { get }
    var port: Int { get }
    /// The mount path, with a leading slash and without a trailing one.
    var mount: String { get }
    var applicationId: String { get }

    /// The address to connect to.
    /// - Throws: the system's error for an unknown host.
    func address() throws -> SocketAddress
}
