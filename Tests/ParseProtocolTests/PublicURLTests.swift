import ParseProtocol
import Testing

/// The single rule for the URL at which clients reach the gateway.
@Suite struct PublicURLTests {
    @Test(
        arguments: [
            ([:], "http://127.0.0.1:1337/parse"),
            (["satchel.port": "2000", "satchel.mount": "/api"], "http://127.0.0.1:2000/api"),
            (["satchel.public.url": "https://shop.example/parse/"], "https://shop.example/parse"),
            (["satchel.host": "::1", "satchel.port": "80"], "http://[::1]:80/parse"),
            (["satchel.public.url": "", "satchel.mount": "/"], "http://127.0.0.1:1337"),
        ] as [([String: String], String)])
    func theSettingsMakeTheAddress(_ settings: [String: String], _ expected: String) {
        #expect(PublicURL { settings[$0] }.text == expected)
    }
}
