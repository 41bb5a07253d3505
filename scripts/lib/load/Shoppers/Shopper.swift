import NIOCore
import ParseProtocol
import SuiteClient

/// The state shared by all shoppers.
struct Shop: Sendable {
    let site: LoadSite
    let mix: Mix
    let goods: Goods
    let accounts: Accounts
    let group: any EventLoopGroup
    /// An app's timeout for an answer, and a request's maximum wait for a shopper.
    let timeout: Duration
}

/// A shopper: visit after visit, each with its own connection and address.
struct Shopper: Sendable {
    private let shop: Shop
    private let number: Int
    private var visits = 0
    private var visit: Visit

    /// The part of a shopper's state that ends with the visit.
    private struct Visit: Sendable {
        var client: LoadClient
        var walk: Walk
        let account: Account?
        var productId: String
    }

    /// Upper limit of shopper numbers. Each further visit adds it to the number, so that addresses are not soon reused.
    private static let shoppersMax = 1 << 16

    init(_ shop: Shop, number: Int) {
        (self.shop, self.number) = (shop, number)
        visit = Self.visit(shop, number: number)
    }

    private static func visit(_ shop: Shop, number: Int) -> Visit {
        var random = SystemRandomNumberGenerator()
        let wantsAccount = Double.random(in: 0..<1, using: &random) < shop.mix.customerShare
        let account = wantsAccount ? shop.accounts.take() : nil
        var client = LoadClient(shop.site, number: number, timeout: shop.timeout, on: shop.group)
        client.sessionToken = account?.sessionToken
        return Visit(
            client: client, walk: Walk(shop.mix, isCustomer: account != nil, using: &random), account: account,
            productId: shop.goods.product(using: &random))
    }

    /// Sends the next request; the first of a new visit when the last visit is over.
    /// - Returns: the step, its result, and how long the shopper looks at it, in seconds.
    mutating func act() async -> (step: Step, outcome: Outcome, thought: Double) {
        var random = SystemRandomNumberGenerator()
        let step: Step
        if let next = visit.walk.next(using: &random) {
            step = next
        } else {
            leave()
            step = visit.walk.next(using: &random) ?? .brands
        }
        let request = self.request(for: step, using: &random)
        let outcome = await perform(request, of: step)
        visit.walk.ended(step, succeeded: outcome == .answered)
        return (step, outcome, shop.mix.thought(after: step, using: &random))
    }

    private mutating func leave() {
        visit.client.close()
        if let account = visit.account { shop.accounts.giveBack(account) }
        visits += 1
        visit = Self.visit(shop, number: number + visits * Self.shoppersMax)
    }

    private mutating func request(for step: Step, using random: inout SystemRandomNumberGenerator) -> Request {
        if step == .product || step == .bag { visit.productId = shop.goods.product(using: &random) }
        return switch step {
        case .brands: .brands
        case .browse: .products(ofBrand: shop.goods.brand(using: &random))
        case .search: .search(for: shop.goods.word(using: &random))
        case .product: .product(visit.productId)
        case .favourite: .favourite(visit.productId, of: visit.account?.userId ?? "")
        case .enter: .anonymousUser
        case .bag: .addToBag(visit.productId)
        case .checkout: .checkout(key: Names.random(20), email: "\(Names.random(12).lowercased())@shoppers.example")
        case .history: .history
        }
    }

    private mutating func perform(_ request: Request, of step: Step) async -> Outcome {
        let answer: Answer
        do {
            answer = try await visit.client.send(request)
        } catch LinkError.timeout {
            return .failed("no answer in time")
        } catch LinkError.closed {
            return .failed("the connection was closed")
        } catch {
            return .failed("no connection")
        }
        guard !(200..<300).contains(answer.status) else {
            if step == .enter { visit.client.sessionToken = answer.json?["sessionToken"]?.stringValue }
            return .answered
        }
        let code = answer.json?["code"]?.intValue ?? 0
        // The request is valid, so a validation error of these two steps means that the goods have run out.
        if step == .bag || step == .checkout, code == Int64(ParseError.Code.validationError.rawValue) {
            return .refused
        }
        return .failed("\(answer.status) with code \(code)")
    }
}
