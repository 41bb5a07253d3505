import Configuration
import Foundation

extension BusConfiguration {
    /// The bus as `SATCHEL_BUS` and `SATCHEL_BUS_KEYS` describe it.
    public init(reader: ConfigReader, dataDirectory: String) throws {
        let path = reader.string(forKey: "satchel.bus.keys")
        let keys = try path.map { path in
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Problem.keyFile(path) }
            return try CurveKeys(text: text, path: path)
        }
        try self.init(
            endpoint: reader.string(forKey: "satchel.bus", default: "ipc://\(dataDirectory)/sockets/bus.ipc"),
            keys: keys)
    }
}

extension ConfigReader {
    /// The environment of this process: `satchel.some.name` is `SATCHEL_SOME_NAME`. An empty variable counts as not set, since that is
    /// how container engines pass variables that nobody set.
    public static var environment: ConfigReader {
        let variables = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        return ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
    }
}
