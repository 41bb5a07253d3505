import Foundation
import MessageBus

extension BusConfiguration {
    /// The bus as `SATCHEL_BUS` and `SATCHEL_BUS_KEYS` describe it.
    /// - Throws: `BusConfiguration.Problem`.
    public init(_ settings: Settings, dataDirectory: String) throws {
        let keys = try settings["satchel.bus.keys"].map { path in
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Problem.keyFile(path) }
            return try CurveKeys(text: text, path: path)
        }
        try self.init(
            endpoint: settings.text("satchel.bus", default: "ipc://\(dataDirectory)/sockets/bus.ipc"), keys: keys)
    }
}
