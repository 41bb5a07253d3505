import CloudService
import ParseProtocol
import ProcessKit
import Testing

/// The hosts and addresses allowed by a list in `SATCHEL_CLOUD_NETWORK`.
@Suite struct AllowedHostsTests {
    private static func hosts(_ text: String) throws -> AllowedHosts {
        try #require(AllowedHosts(text.split(separator: ",").map(String.init)))
    }

    private static func allows(_ hosts: AllowedHosts, _ host: String, _ port: Int) -> Bool {
        AllowedHosts.Destination(host, port).map(hosts.allows) ?? false
    }

    @Test func aHostIsNamedWithItsPorts() throws {
        let hosts = try Self.hosts(
            "api.stripe.com,Hooks.example.com:8443,*.example.org,10.0.0.5:8080,[2001:db8::1]:443")
        for (host, port) in [
            ("api.stripe.com", 443), ("API.Stripe.com.", 80), ("hooks.example.com", 8443), ("a.example.org", 443),
            ("a.b.example.org", 80), ("10.0.0.5", 8080), ("2001:DB8:0::1", 443), ("::ffff:10.0.0.5", 8080),
        ] { #expect(Self.allows(hosts, host, port), "\(host):\(port)") }
        for (host, port) in [
            ("stripe.com", 443), ("api.stripe.com", 8443), ("hooks.example.com", 443), ("example.org", 443),
            ("badexample.org", 443), ("api.stripe.com.evil.net", 443), ("10.0.0.5", 443), ("10.0.0.6", 8080),
            ("2001:db8::1", 80), ("127.0.0.1", 443), ("", 443), ("api.stripe.com", 0), ("api.stripe.com\r\n", 443),
        ] { #expect(!Self.allows(hosts, host, port), "\(host):\(port)") }
    }

    /// Resolvers interpret these as addresses.
    @Test(arguments: ["2130706433", "127.1", "0x7f000001", "127.0.0.0x1", "017700000001", "1.2.3.4.5", "fe80::1%eth0"])
    func anAddressIsWrittenInOneWay(_ text: String) {
        #expect(AllowedHosts.Destination(text, 443) == nil)
    }

    @Test(arguments: [
        "", "*", "*.", "https://api.stripe.com", "api.stripe.com/v1", "a!b", "a:b", "a:0", "a:70000", "*.10.0.0.1",
        "a*.example.org", "[api.stripe.com]", "::1", "[::1", "[::1]x",
    ])
    func whatIsNoHostEndsTheStart(_ text: String) {
        #expect(AllowedHosts([text]) == nil)
        let settings = Settings(["SATCHEL_CLOUD_NETWORK": "api.stripe.com,\(text.isEmpty ? "?" : text)"])
        #expect(throws: StartupProblem.self) { try CodeNetwork(settings) }
    }

    @Test func theSettingIsOnOffOrAList() throws {
        #expect(try CodeNetwork(Settings([:])) == .on)
        #expect(try CodeNetwork(Settings(["SATCHEL_CLOUD_NETWORK": "off"])) == .off)
        let list = try CodeNetwork(Settings(["SATCHEL_CLOUD_NETWORK": "api.stripe.com, *.example.org"]))
        #expect(try list == .list(Self.hosts("api.stripe.com,*.example.org")))
    }

    /// The owner of a name controls what it resolves to.
    @Test func anAddressThatIsNotPublicIsNamedItself() throws {
        let hosts = try Self.hosts("shop.example.com,inside.example.com:8080,10.0.0.5:8080,169.254.169.254")
        func admits(_ address: String, _ host: String, _ port: Int) throws -> Bool {
            hosts.admits(
                try #require(NetworkAddress(address)), for: try #require(AllowedHosts.Destination(host, port)))
        }
        #expect(try admits("93.184.216.34", "shop.example.com", 443))
        #expect(try admits("2606:2800:220:1::1", "shop.example.com", 443))
        for address in ["127.0.0.1", "10.0.0.5", "::1", "fe80::1", "192.168.1.1", "::ffff:127.0.0.1"] {
            #expect(try !admits(address, "shop.example.com", 443), "\(address)")
        }
        #expect(try admits("10.0.0.5", "inside.example.com", 8080))
        #expect(try admits("::ffff:10.0.0.5", "inside.example.com", 8080))
        #expect(try !admits("10.0.0.6", "inside.example.com", 8080))
        #expect(try admits("169.254.169.254", "169.254.169.254", 80))
        #expect(try !admits("93.184.216.34", "other.example.com", 443))
    }

    @Test func publicAddressesAreRecognized() throws {
        for text in ["8.8.8.8", "100.63.0.1", "172.32.0.1", "223.255.255.1", "2606:4700::1111", "2a00:1450::1"] {
            #expect(try #require(NetworkAddress(text)).isPublic, "\(text)")
        }
        for text in [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.255.0.1", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.0.1", "198.19.0.1", "198.51.100.1", "203.0.113.1",
            "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1",
            "2002:7f00:1::", "64:ff9b::7f00:1", "2001::1", "::ffff:10.0.0.1",
        ] { #expect(try !#require(NetworkAddress(text)).isPublic, "\(text)") }
    }
}

/// The request to the proxy.
@Suite struct ProxyHeadTests {
    @Test func aDestinationIsAskedForInPieces() {
        var head = ProxyHead()
        for byte in "CONNECT api.stripe.com:443 HTTP/1.1\r\nHost: x\r\n\r".utf8 {
            #expect(head.take([byte]) == .incomplete)
        }
        let destination = AllowedHosts.Destination("api.stripe.com", 443)
        #expect(head.take("\n".utf8) == destination.map(ProxyHead.Outcome.connect))
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "CONNECT api.stripe.com HTTP/1.1\r\n\r\n", "CONNECT a:443\r\n\r\n", "\r\n\r\n",
        "CONNECT a:443 HTTP/1.1\r\n\r\nmore", "CONNECT  a:443 HTTP/1.1\r\n\r\n", "CONNECT a:x HTTP/1.1\r\n\r\n",
        "CONNECT user@a:443 HTTP/1.1\r\n\r\n", "CONNECT [a]:443 HTTP/1.1\r\n\r\n",
        "CONNECT a:443 HTTP/1.1\r\nX: " + String(repeating: "a", count: 5000),
    ])
    func anythingElseIsRefused(_ text: String) {
        var head = ProxyHead()
        #expect(head.take(text.utf8) == .malformed)
    }
}
