import Foundation
import Messages
import ParseProtocol
import WebService

/// A step of a storefront's page, without a suite.
enum ShopReplies {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Storefront")

    /// - Parameters:
    ///   - refusal: the status with which the gateway has refused the request; 0 for none.
    ///   - results: of the requests that the page asked for. One with a `code` is an error.
    static func reply(
        _ method: String, _ path: String, query: [String: String] = [:], form: [String: String] = [:],
        kept: [String: String] = [:], user: String, refusal: UInt32 = 0, language: String = "en", _ results: [JSON] = []
    ) throws -> ShopReply {
        let shop = try Shop(
            reading: folder, shopName: "Beauty", currency: try Currency("usd"), zone: .utc, isSandbox: true,
            assets: "/shop/assets/1/shop")
        return shop.reply(
            to: .with {
                $0.method = method
                $0.path = path.split(separator: "/").map(String.init)
                $0.query = query
                $0.form = form
                $0.kept = kept
                $0.userID = user
                $0.refusal = refusal
                $0.languages = language
                $0.results = results.map { body in
                    .with {
                        $0.status = body["code"] == nil ? 200 : body["code"] == 2 ? 503 : 400
                        $0.body = Data(body.serialized)
                    }
                }
            })
    }
}
