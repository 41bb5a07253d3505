import ProcessKit
import Testing
import WebService

/// Which tile URLs the dashboard's maps accept, and the host that the content security policy allows for them.
@Suite struct MapTilesTests {
    private static func tiles(_ address: String) throws(StartupProblem) -> MapTiles {
        try MapTiles(Settings(["SATCHEL_DASHBOARD_TILES": address]))
    }

    @Test func thereAreNoneUnlessTold() throws {
        let tiles = try MapTiles(Settings([:]))
        #expect(tiles.template == "")
        #expect(tiles.origin == nil)
    }

    @Test(arguments: [
        ("https://tiles.example.org/{z}/{x}/{y}.png", "https://tiles.example.org"),
        ("http://127.0.0.1:8080/a/{z}/{y}/{x}", "http://127.0.0.1:8080"),
        ("https://tiles.example.org/t?z={z}&x={x}&y={y}&key=k", "https://tiles.example.org"),
    ])
    func oneHostIsAllowed(_ address: String, _ origin: String) throws {
        let tiles = try Self.tiles(address)
        #expect(tiles.template == address)
        #expect(tiles.origin == origin)
    }

    @Test(arguments: [
        "https://tiles.example.org/{z}/{x}.png", "https://{s}.example.org/{z}/{x}/{y}.png",
        "https://{z}.example.org/{z}/{x}/{y}.png", "https://tiles.example.org/{z}/{x}/{y}{r}.png",
        "https://user:word@tiles.example.org/{z}/{x}/{y}.png", "ftp://tiles.example.org/{z}/{x}/{y}.png",
        "javascript:alert(1)//{z}/{x}/{y}", "/tiles/{z}/{x}/{y}.png", "https://*/{z}/{x}/{y}.png",
        "https://a.example;script-src/{z}/{x}/{y}.png", "https://tiles.example.org{z}/{x}/{y}", "tiles",
    ])
    func whatAPolicyCouldNotNameEndsTheStart(_ address: String) {
        let problem = #expect(throws: StartupProblem.self) { _ = try Self.tiles(address) }
        #expect(problem.map { "\($0)".contains("SATCHEL_DASHBOARD_TILES") } == true)
    }
}
