import NIOCore

/// A suite as its clients see it: an address, and what they say there.
package protocol Site: Sendable {
    /// The name or address of the header `Host`.
    var host: String { get }
    var port: Int { get }
    /// The mount path, with a slash in front and none at the end.
    var mount: String { get }
    var applicationId: String { get }

    /// The address to connect to.
    /// - Throws: whatever the system says about a host that is none.
    func address() throws -> SocketAddress
}
