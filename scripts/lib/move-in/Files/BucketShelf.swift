import Outbound
import ParseProtocol
import Platform

/// Files in a bucket of S3 or a compatible server, at `<prefix>/<name>`, as Parse Server's S3 adapter stores them.
struct BucketShelf: FileShelf {
    static let scheme = "s3://"

    let name: String
    let isLocal = false
    private let address: BucketAddress
    private let signature: SignatureV4
    /// Belongs to temporary keys.
    private let token: String?
    private let http: PatientHTTP

    private static let timeout = Duration.seconds(300)

    /// - Parameters:
    ///   - place: `s3://bucket` or `s3://bucket/prefix`.
    ///   - variables: as AWS's own tools name them, such as `AWS_ACCESS_KEY_ID`.
    /// - Throws: `MoveInError` for a place of another form, and without keys.
    init(_ place: String, _ variables: [String: String], http: PatientHTTP) throws {
        guard let key = variables["AWS_ACCESS_KEY_ID"], let secret = variables["AWS_SECRET_ACCESS_KEY"] else {
            throw MoveInError("\(place) needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.")
        }
        let region = variables["AWS_REGION"] ?? variables["AWS_DEFAULT_REGION"] ?? "us-east-1"
        let parts = place.dropFirst(Self.scheme.count).split(separator: "/", maxSplits: 1).map(String.init)
        let folder = parts.count == 2 ? parts[1] : ""
        do {
            address = try BucketAddress(
                url: variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"], bucket: parts.first ?? "",
                region: region, prefix: folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/")
        } catch {
            throw MoveInError(
                """
                \(place) is no place of files: write s3://bucket/prefix, and AWS_ENDPOINT_URL=https://s3.example.com \
                for a server that is not Amazon's.
                """)
        }
        signature = SignatureV4(accessKey: key, secret: secret, region: region)
        token = variables["AWS_SESSION_TOKEN"]
        name = place
        self.http = http
    }

    func open(_ file: OldFile, bytesMax: Int) async throws -> ShelvedFile? {
        // libcurl would normalise such a path, and the signature would be of another one.
        guard !file.name.contains("/"), file.name != ".", file.name != ".." else { return nil }
        var request = self.request(for: file.name)
        request.answerBytesMax = bytesMax
        let response: OutboundResponse
        do {
            response = try await http.send(request, "\(name): \(file.name)")
        } catch let error as MoveInError {
            throw ShelfProblem(reason: error.description, isAway: true)
        }
        switch BucketTrouble(status: response.status, body: response.body) {
        case nil: return ShelvedFile(content: response.body, contentType: response.headers["content-type"])
        case .missing?: return nil
        case .refused("AccessDenied")?:
            throw ShelfProblem(reason: "\(name) lacks it, or does not show it to this key (AccessDenied)")
        case let trouble?: throw MoveInError("\(name): \(trouble)")
        }
    }

    /// Without TLS it bypasses proxies, which must not see the session token.
    func request(for name: String) -> OutboundRequest {
        let path = address.path(of: name)
        let headers = signature.headers(
            for: .init(
                "GET", host: address.host, path: path,
                headers: token.map { [(name: "x-amz-security-token", value: $0)] } ?? []),
            bodyHash: SignatureV4.emptyHash, at: .now)
        var request = OutboundRequest(.get, address.url(path), headers: headers, timeout: Self.timeout)
        request.isDirect = !request.url.lowercased().hasPrefix("https://")
        return request
    }
}
