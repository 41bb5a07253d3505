import GatewayService
import ParseProtocol
import Testing

/// What distinguishes two pages of the storefront that the gateway keeps, and what does not.
@Suite struct PageAddressTests {
    private static func address(
        _ path: [Substring], _ query: String? = nil, _ languages: String? = "en"
    ) throws -> PageAddress? {
        try PageAddress(path: path, query: query, languages: languages)
    }

    private static func key(
        _ path: [Substring], _ query: String? = nil, _ languages: String? = "en", edition: Int = 1
    ) throws -> [UInt8] {
        try #require(try address(path, query, languages)?.key(edition))
    }

    @Test func onlyPagesThatShowNoShopperAreKept() throws {
        let kept: [[Substring]] = [
            [], ["brands", "x"], ["products", "x"], ["search"], ["stores"], ["pages", "about"], ["promotions", "x"],
        ]
        for path in kept {
            #expect(try Self.address(path) != nil, "\(path)")
        }
        let others: [[Substring]] = [
            ["bag"], ["account"], ["checkout"], ["orders", "x"], ["badge"], ["log-in"], ["products", "x", "review"],
        ]
        for path in others {
            #expect(try Self.address(path) == nil, "\(path)")
        }
    }

    @Test func otherParametersAreNeitherKeptNorPassedOn() throws {
        let query = "utm_source=mail&q=rose&evil=%3Cscript%3E&fbclid=1&page=2"
        let address = try #require(try Self.address(["search"], query))
        #expect(address.query == ["q": "rose", "page": "2"])
        #expect(try Self.key(["search"], query) == Self.key(["search"], "page=2&q=rose"))
        // The last one counts, as in the query itself.
        #expect(try Self.key(["search"], "q=a&q=rose&page=2") == Self.key(["search"], "page=2&q=rose"))
        #expect(throws: ParseError.self) { try Self.address(["search"], "q=%zz") }
    }

    @Test func everythingThatAPageShowsIsInTheKey() throws {
        let keys = [
            try Self.key([]), try Self.key(["search"]), try Self.key(["search"], "q="), try Self.key(["search"], "q=a"),
            try Self.key(["search"], "q=A"), try Self.key(["search"], "q=a&page=2"),
            // The texts of one parameter differ from the texts of two.
            try Self.key(["search"], "q=a%26page%3D2"), try Self.key(["search"], "max=1"),
            try Self.key(["search"], "min=1"), try Self.key(["search"], "q=a", "de"),
            try Self.key(["search"], "q=a", "en", edition: 2), try Self.key(["products", "a"]),
            // A slash in a component, and letters that only look alike.
            try Self.key(["products", "a/b"]), try Self.key(["brands", "a"]),
            try Self.key(["search"], "q=caf%C3%A9"), try Self.key(["search"], "q=cafe%CC%81"),
        ]
        #expect(Set(keys).count == keys.count)
    }

    @Test func languagesAreThoseThatBrowsersPrefer() throws {
        func languages(_ header: String?) throws -> String? { try Self.address([], nil, header)?.languages }
        #expect(try languages("de-CH,de;q=0.9,en;q=0.5") == "de,en")
        #expect(try languages("DE, en-US;q=0.5") == "de,en")
        #expect(try languages(nil) == "")
        #expect(try languages("*,x,\u{1F600},<script>,english,en") == "en")
        // A long list cannot make a long key.
        let many = (0..<500).map { "a\(UnicodeScalar(UInt8(97 + $0 % 26)))" }.joined(separator: ",")
        #expect(try #require(try languages(many)).count < 30)
    }

    @Test func aLongAddressIsNotKept() throws {
        let long = String(repeating: "a", count: 3000)
        let address = try #require(try Self.address(["search"], "q=\(long)"))
        #expect(address.key(1) == nil)
        #expect(address.query["q"] == long)
    }

    @Test func pagesOfOtherProcessesAreNotServed() {
        var renderers = PageRenderers()
        var editions: [Int] = []
        for replicas in [["web-1"], ["web-1"], ["web-1", "web-2"], ["web-2"], [], [], ["web-2"]] {
            renderers.changed(to: replicas)
            editions.append(renderers.edition)
        }
        #expect(editions == [1, 1, 2, 3, 3, 3, 4])
    }
}
