import Glibc

/// The proxy's listening socket, which lives as long as the process. Sandboxes mount its file: a new file at the same
/// path would not be visible to them.
final class ProxySocket: Sendable {
    /// Why the socket cannot listen.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Maximum connections that wait for accept.
    private static let backlog: Int32 = 256

    private let descriptor: Int32

    /// - Parameter path: its file is recreated.
    /// - Throws: when it cannot listen there.
    init(path: String) throws(Failure) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw Failure("No socket can be created", path) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard path.utf8.count < place.count else { return false }
            place.copyBytes(from: path.utf8)
            return true
        }
        guard fits else { throw Failure(description: "The path \(path) is too long.") }
        unlink(path)
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        // Only for this user: a process that runs as this user can reach the network anyway, and no other user needs
        // the socket.
        guard isBound, chmod(path, 0o600) == 0, listen(descriptor, Self.backlog) == 0 else {
            throw Failure("The proxy cannot listen", path)
        }
    }

    deinit { close(descriptor) }

    /// A duplicate descriptor, which the caller closes.
    /// - Throws: when no descriptors are left.
    func copy() throws(Failure) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw Failure("The descriptor cannot be duplicated", "the proxy") }
        return copy
    }
}

extension ProxySocket.Failure {
    /// Includes the error of the last system call.
    fileprivate init(_ what: String, _ path: String) {
        self.init(description: "\(what) at \(path): \(String(cString: strerror(errno))).")
    }
}
