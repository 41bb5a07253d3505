import MessageBus
import ProcessKit
import Testing

/// `SATCHEL_BUS`: the endpoints that services dial, and the endpoint that a gateway binds.
@Suite struct BusSettingsTests {
    private func services(_ settings: [String: String]) throws -> GatewayList {
        try BusConfiguration(Settings(settings), dataDirectory: "/data").gateways
    }

    private func gateway(_ name: String, _ settings: [String: String] = [:]) throws -> String {
        try BusConfiguration(ofGateway: name, Settings(settings), dataDirectory: "/data").endpoint
    }

    @Test func servicesDialTheGatewaysOfTheirHostUnlessTold() throws {
        let list = try services([:])
        #expect(list.endpoints == ["ipc:///data/sockets/bus.ipc"])
        #expect(list.file == "/data/sockets/gateways")
    }

    @Test func endpointsAreListedWithCommasOrInAFile() throws {
        let listed = try services(["SATCHEL_BUS": "tcp://127.0.0.1:1, tcp://127.0.0.1:2"])
        #expect(listed == GatewayList(["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]))
        let inFile = try services(["SATCHEL_BUS": "file:/elsewhere"])
        #expect(inFile.file == "/elsewhere")
    }

    @Test func faultsAreReadOnlyWhereATestAsksForThem() throws {
        func faults(_ settings: [String: String]) throws -> String? {
            try BusConfiguration(Settings(settings), dataDirectory: "/data").faults
        }
        #expect(try faults([:]) == nil)
        #expect(try faults(["SATCHEL_TEST_BUS_FAULTS": "true"]) == "/data/bus.faults")
    }

    @Test func aGatewayBindsTheEndpointOfItsNumber() throws {
        #expect(try gateway("gateway-1") == "ipc:///data/sockets/bus.ipc")
        #expect(try gateway("gateway-2") == "ipc:///data/sockets/bus-2.ipc")
        let both = ["SATCHEL_BUS": "tcp://127.0.0.1:1,tcp://127.0.0.1:2"]
        #expect(try gateway("gateway-2", both) == "tcp://127.0.0.1:2")
        // A gateway on a separate host binds an address of that host.
        #expect(try gateway("gateway-2", ["SATCHEL_BUS": "tcp://127.0.0.1:9"]) == "tcp://127.0.0.1:9")
        #expect(throws: BusConfiguration.Problem.self) { try gateway("gateway-3", both) }
    }

    @Test func noEndpointOfAListMayBeOpenToOthers() {
        #expect(throws: BusConfiguration.Problem.self) {
            try services(["SATCHEL_BUS": "tcp://127.0.0.1:1,tcp://10.0.0.1:2"])
        }
        #expect(throws: BusConfiguration.Problem.self) { try services(["SATCHEL_BUS": ","]) }
    }
}
