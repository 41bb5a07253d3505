import CZeroMQ
import Glibc

/// The CURVE key pairs of a suite whose bus crosses hosts: one for the gateways, one shared by all services. Keys are
/// in Z85 text, 40 characters each (zmq_curve(7)).
public struct CurveKeys: Sendable {
    let serverPublic: String
    let serverSecret: String
    let servicePublic: String
    let serviceSecret: String

    /// New random keys.
    public static func make() throws -> CurveKeys {
        let server = try pair()
        let service = try pair()
        return CurveKeys(
            serverPublic: server.public, serverSecret: server.secret, servicePublic: service.public,
            serviceSecret: service.secret)
    }

    private init(serverPublic: String, serverSecret: String, servicePublic: String, serviceSecret: String) {
        self.serverPublic = serverPublic
        self.serverSecret = serverSecret
        self.servicePublic = servicePublic
        self.serviceSecret = serviceSecret
    }

    /// Parses the text of a key file.
    /// - Throws: `BusConfiguration.Problem.keyFile` when a line is missing or not a key.
    public init(text: String, path: String) throws {
        var values: [Substring: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[1].utf8.count == 40 { values[parts[0]] = String(parts[1]) }
        }
        guard let serverPublic = values["server.public"], let serverSecret = values["server.secret"],
            let servicePublic = values["service.public"], let serviceSecret = values["service.secret"]
        else { throw BusConfiguration.Problem.keyFile(path) }
        self.init(
            serverPublic: serverPublic, serverSecret: serverSecret, servicePublic: servicePublic,
            serviceSecret: serviceSecret)
    }

    /// The text of a key file; secret.
    public var text: String {
        """
        # Keys of Satchel's message bus. A process with this file can join the bus: keep it secret.
        server.public=\(serverPublic)
        server.secret=\(serverSecret)
        service.public=\(servicePublic)
        service.secret=\(serviceSecret)

        """
    }

    private static func pair() throws -> (public: String, secret: String) {
        var publicKey = [CChar](repeating: 0, count: 41)
        var secretKey = [CChar](repeating: 0, count: 41)
        guard zmq_curve_keypair(&publicKey, &secretKey) == 0 else { throw ZeroMQError("zmq_curve_keypair") }
        func text(_ key: [CChar]) -> String {
            String(decoding: key.prefix(40).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return (text(publicKey), text(secretKey))
    }
}
