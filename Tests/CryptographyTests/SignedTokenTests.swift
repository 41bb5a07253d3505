import ParseProtocol
import SignedTokens
import Testing

/// Tokens against the examples of RFC 7515, and invalid tokens.
@Suite struct SignedTokenTests {
    /// A.2 and A.3 sign the same claims.
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let rsaToken = """
        eyJhbGciOiJSUzI1NiJ9.\(payload).cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4B\
        h-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS\
        jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUi\
        pUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
        """
    static let curveToken = """
        eyJhbGciOiJFUzI1NiJ9.\(payload).DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKT\
        UJqPP3-Kg6NU1Q
        """
    static let rsaKey: JSON = [
        "kty": "RSA", "e": "AQAB",
        "n": """
        ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SF\
        d2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo\
        7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkM\
        Ls91kzk2PAcDTW9gb54h4FRWyuXpoQ
        """,
    ]
    static let curveKey: JSON = [
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    ]

    @Test(arguments: [(rsaToken, rsaKey), (curveToken, curveKey)])
    func thePublishedTokensHold(_ text: String, _ jwk: JSON) throws {
        let claims = try SignedToken(text).claims(signedBy: TokenKey(jwk: jwk))
        #expect(claims.issuer == "joe")
        #expect(claims.subject == nil)
        #expect(claims.audiences.isEmpty)
        #expect(claims.json["http://example.com/is_root"] == true)
        try claims.checkTime(Timestamp(milliseconds: 1_300_819_379_999))
        #expect(throws: TokenProblem.expired) {
            try claims.checkTime(Timestamp(milliseconds: 1_300_819_380_000))
        }
    }

    @Test(arguments: [(rsaToken, curveKey), (curveToken, rsaKey)])
    func aKeyOfTheOtherKindDecides(_ text: String, _ jwk: JSON) throws {
        let (token, key) = (try SignedToken(text), try TokenKey(jwk: jwk))
        #expect(throws: TokenProblem.algorithm) { try token.claims(signedBy: key) }
    }

    @Test func aTokenOfOursHoldsAndNamesItsKey() throws {
        let signer = try TokenSigner(pem: TestKeys.rsa, keyId: "k1")
        #expect(signer.algorithm == .rs256)
        let token = try SignedToken(signer.token(["iss": "us", "exp": 2]))
        #expect(token.keyId == "k1")
        #expect(token.algorithm == .rs256)
        #expect(try token.claims(signedBy: TokenKey(jwk: Self.rsaKey)).json == ["iss": "us", "exp": 2])
        let curve = try TokenSigner(pem: TestKeys.p256, keyId: "KEY")
        let header = try #require(try curve.token([:]).split(separator: ".").first)
        let read = try JSON(parsing: try #require(Base64URL.decode(header.utf8)))
        #expect(read == ["alg": "ES256", "kid": "KEY", "typ": "JWT"])
        #expect(throws: TokenProblem.key) { try TokenSigner(pem: TestKeys.p384, keyId: "k") }
    }

    @Test func whatSomebodyElseSignedOrChangedDoesNotHold() throws {
        let key = try TokenKey(jwk: Self.curveKey)
        let stranger = try SignedToken(TokenSigner(pem: TestKeys.p256, keyId: "k").token(["iss": "joe"]))
        #expect(throws: TokenProblem.signature) { try stranger.claims(signedBy: key) }
        let other = Base64URL.encode(Array(#"{"iss":"jo3"}"#.utf8))
        let changed = try SignedToken(Self.curveToken.replacing(Self.payload, with: other))
        #expect(throws: TokenProblem.signature) { try changed.claims(signedBy: key) }
        let unsigned = try SignedToken("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).")
        #expect(throws: TokenProblem.signature) { try unsigned.claims(signedBy: key) }
    }

    @Test(arguments: ["none", "None", "HS256", "RS384", "ES384", "PS256", "rs256", ""])
    func anotherAlgorithmIsNone(_ name: String) {
        let header = Base64URL.encode(JSON.object(["alg": .string(name)]).serialized)
        #expect(throws: TokenProblem.algorithm) { try SignedToken("\(header).\(Self.payload).AAAA") }
    }

    @Test func whatIsNoTokenIsRefused() {
        let critical = Base64URL.encode(Array(#"{"alg":"ES256","crit":["exp"]}"#.utf8))
        let list = Base64URL.encode(Array(#"["alg","ES256"]"#.utf8))
        let wrong = [
            "", ".", "..", "...", "a.b.c", "\(Self.curveToken).", "\(Self.curveToken)=", "\(Self.curveToken) ",
            "\(critical).\(Self.payload).AAAA", "\(list).\(Self.payload).AAAA",
            Self.curveToken.replacing("-", with: "+"), String(repeating: "A", count: 20_000),
        ]
        for text in wrong {
            #expect(throws: TokenProblem.malformed, "\(text.prefix(40))") { try SignedToken(text) }
        }
    }

    @Test(
        arguments: [
            [:], ["kty": "oct", "k": "AAAA"], ["kty": "EC"], ["kty": "EC", "crv": "P-384"], ["kty": "RSA"],
            ["kty": "RSA", "n": "AQAB", "e": "AQAB"], ["kty": "RSA", "n": 5, "e": "AQAB"],
        ] as [JSON])
    func whatIsNoKeyIsRefused(_ jwk: JSON) {
        #expect(throws: TokenProblem.key) { try TokenKey(jwk: jwk) }
    }

    @Test func aKeyForSomethingElseIsRefused() throws {
        func key(_ name: String, _ value: JSON) throws -> TokenKey {
            var jwk = Self.rsaKey
            jwk[name] = value
            return try TokenKey(jwk: jwk)
        }
        _ = try key("alg", "RS256")
        _ = try key("use", "sig")
        #expect(throws: TokenProblem.key) { try key("alg", "ES256") }
        #expect(throws: TokenProblem.key) { try key("alg", "HS256") }
        #expect(throws: TokenProblem.key) { try key("use", "enc") }
    }

    @Test func timesAndAudiencesAreReadStrictly() throws {
        let signer = try TokenSigner(pem: TestKeys.rsa, keyId: "k")
        func claims(_ json: JSON) throws -> TokenClaims {
            try SignedToken(signer.token(json)).claims(signedBy: TokenKey(jwk: Self.rsaKey))
        }
        let now = Timestamp(milliseconds: 100_000)
        try claims(["exp": 100.5, "nbf": 100, "iat": 999]).checkTime(now)
        try claims(["exp": 101, "nbf": .null]).checkTime(now)
        #expect(throws: TokenProblem.expired) { try claims(["exp": 100]).checkTime(now) }
        #expect(throws: TokenProblem.tooEarly) { try claims(["exp": 200, "nbf": 101]).checkTime(now) }
        for json in [[:], ["exp": "200"], ["exp": 200, "nbf": "1"], ["exp": .null]] as [JSON] {
            #expect(throws: TokenProblem.malformed) { try claims(json).checkTime(now) }
        }
        #expect(try claims(["aud": "a"]).audiences == ["a"])
        #expect(try claims(["aud": ["a", "b"]]).audiences == ["a", "b"])
        for json in [[:], ["aud": []], ["aud": 1], ["aud": ["a", 1]], ["aud": ["a": "b"]]] as [JSON] {
            #expect(try claims(json).audiences.isEmpty)
        }
    }

    /// RFC 4648's vectors in the form of RFC 7515.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
    ])
    func base64IsWrittenAndReadInOneFormOnly(_ plain: String, _ coded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == coded)
        #expect(Base64URL.decode(coded.utf8) == Array(plain.utf8))
        for wrong in ["Zh", "Zm9", "Z", "Zg==", "Zg=", "Zm 8", "+/+/", "Zm9vY"] {
            #expect(Base64URL.decode(wrong.utf8) == nil, "\(wrong)")
        }
        #expect(Base64URL.decode("-_-_".utf8) == [0xFB, 0xFF, 0xBF])
    }
}
