import Foundation
import MessageBus

extension BusConfiguration {
    /// The bus of a service, from `SATCHEL_BUS` and `SATCHEL_BUS_KEYS`. `SATCHEL_TEST_BUS_FAULTS` is for
    /// `scripts/chaos`.
    /// - Throws: `BusConfiguration.Problem`, `StartupProblem`.
    public init(_ settings: Settings, dataDirectory: String) throws {
        try self.init(
            gateways: Self.gateways(settings, dataDirectory: dataDirectory), keys: try Self.keys(settings))
        if try settings.flag("satchel.test.bus.faults", default: false) { faults = "\(dataDirectory)/bus.faults" }
    }

    /// The bus of a gateway, which binds one endpoint: of several, the one at its number.
    /// - Parameter gateway: its name, such as `gateway-2`.
    /// - Throws: `BusConfiguration.Problem`.
    public init(ofGateway gateway: String, _ settings: Settings, dataDirectory: String) throws {
        let number = gateway.split(separator: "-").last.flatMap { Int($0) } ?? 1
        let endpoints: [String]
        if settings["satchel.bus"] == nil {
            endpoints = [Self.localEndpoint(number, dataDirectory: dataDirectory)]
        } else {
            let listed = Self.gateways(settings, dataDirectory: dataDirectory).current
            guard listed.count == 1 || listed.indices.contains(number - 1) else {
                throw Problem.notListed(gateway, listed.count)
            }
            endpoints = [listed.count == 1 ? listed[0] : listed[number - 1]]
        }
        try self.init(gateways: GatewayList(endpoints), keys: try Self.keys(settings))
    }

    /// `SATCHEL_BUS`: endpoints separated by commas, or `file:` and the path of a file with one endpoint per line.
    private static func gateways(_ settings: Settings, dataDirectory: String) -> GatewayList {
        let own = [localEndpoint(1, dataDirectory: dataDirectory)]
        let text = settings.text("satchel.bus", default: "file:\(dataDirectory)/sockets/gateways")
        if text.hasPrefix("file:") { return GatewayList(own, file: String(text.dropFirst(5))) }
        return GatewayList(GatewayList.endpoints(in: text.replacing(",", with: "\n")))
    }

    /// The default endpoint of a gateway on this host.
    private static func localEndpoint(_ number: Int, dataDirectory: String) -> String {
        "ipc://\(dataDirectory)/sockets/bus\(number > 1 ? "-\(number)" : "").ipc"
    }

    private static func keys(_ settings: Settings) throws -> CurveKeys? {
        try settings["satchel.bus.keys"].map { path in
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Problem.keyFile(path) }
            return try CurveKeys(text: text, path: path)
        }
    }
}
