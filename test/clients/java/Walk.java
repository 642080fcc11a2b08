import com.azure.core.credential.TokenCredential;
import com.azure.core.credential.TokenRequestContext;
import com.azure.core.http.policy.HttpPipelinePolicy;
import com.azure.core.management.AzureEnvironment;
import com.azure.core.management.exception.ManagementException;
import com.azure.core.management.profile.AzureProfile;
import com.azure.identity.ClientCertificateCredentialBuilder;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.resourcemanager.sql.SqlServerManager;
import com.azure.resourcemanager.sql.fluent.SqlManagementClient;
import com.azure.resourcemanager.sql.fluent.models.DataMaskingPolicyInner;
import com.azure.resourcemanager.sql.fluent.models.DataMaskingRuleInner;
import com.azure.resourcemanager.sql.fluent.models.DatabaseInner;
import com.azure.resourcemanager.sql.fluent.models.ServerInner;
import com.azure.resourcemanager.sql.models.DataMaskingFunction;
import com.azure.resourcemanager.sql.models.DataMaskingPolicyName;
import com.azure.resourcemanager.sql.models.DataMaskingRuleState;
import com.azure.resourcemanager.sql.models.DataMaskingState;
import com.microsoft.graph.core.content.BatchRequestContent;
import com.microsoft.graph.core.tasks.PageIterator;
import com.microsoft.graph.models.DirectoryObject;
import com.microsoft.graph.models.Group;
import com.microsoft.graph.models.PasswordProfile;
import com.microsoft.graph.models.ReferenceCreate;
import com.microsoft.graph.models.User;
import com.microsoft.graph.models.UserCollectionResponse;
import com.microsoft.graph.models.odataerrors.ODataError;
import com.microsoft.graph.serviceclient.GraphServiceClient;
import com.microsoft.graph.users.delta.DeltaGetResponse;
import com.microsoft.kiota.authentication.AzureIdentityAuthenticationProvider;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** Walks through both APIs with azure-identity, azure-resourcemanager-sql and microsoft-graph as they are. */
public class Walk {
  static final String origin = System.getenv("WALK_ORIGIN");
  static final String management = "https://management.azure.com/.default";
  static final String graphScope = "https://graph.microsoft.com/.default";
  static final String group = "group";
  static final String server = "walked-java";
  static final String database = "shop";
  static final DataMaskingPolicyName policy = DataMaskingPolicyName.DEFAULT;

  static void check(String what, boolean holds, Object... seen) {
    if (!holds) throw new AssertionError(what + ": " + List.of(seen));
    System.out.println("ok " + what);
  }

  public static void main(String[] args) throws Exception {
    TokenCredential credential = makeCredential(origin, (context, next) -> next.process());
    walkTokens();
    walkMasking(credential);
    walkDirectory(credential);
    tellVersions();
    System.exit(0);
  }

  static TokenCredential makeCredential(String authority, HttpPipelinePolicy policy) {
    return new ClientSecretCredentialBuilder()
        .authorityHost(authority)
        .tenantId(System.getenv("WALK_TENANT"))
        .clientId(System.getenv("WALK_CLIENT"))
        .clientSecret(System.getenv("WALK_SECRET"))
        .disableInstanceDiscovery()
        .addPolicy(policy)
        .build();
  }

  /** msal4j finds a token again only for an authority at the usual port: it is asked there, where the machine has it. */
  static void walkTokens() {
    String usual = System.getenv("WALK_USUAL_ORIGIN");
    AtomicInteger tokens = new AtomicInteger();
    HttpPipelinePolicy counting =
        (context, next) -> {
          if (context.getHttpRequest().getUrl().getPath().endsWith("/token")) tokens.incrementAndGet();
          return next.process();
        };
    TokenCredential credential = makeCredential(usual == null ? origin : usual, counting);
    for (String scope : List.of(management, graphScope)) {
      tokens.set(0);
      TokenRequestContext wanted = new TokenRequestContext().addScopes(scope);
      String first = credential.getTokenSync(wanted).getToken();
      String second = credential.getTokenSync(wanted).getToken();
      if (usual == null) check("tokens for " + scope + " (port 443 is not to be had: no caching)", !second.isEmpty());
      else check("a second token for " + scope + " makes no request",
          first.equals(second) && tokens.get() == 1, tokens.get());
    }
    TokenCredential certified = new ClientCertificateCredentialBuilder()
        .authorityHost(origin)
        .tenantId(System.getenv("WALK_TENANT"))
        .clientId(System.getenv("WALK_CLIENT"))
        .pemCertificate(System.getenv("WALK_CERTIFICATE"))
        .disableInstanceDiscovery()
        .build();
    check("a certificate gets a token",
        !certified.getTokenSync(new TokenRequestContext().addScopes(management)).getToken().isEmpty());
  }

  static void walkMasking(TokenCredential credential) {
    Map<String, String> endpoints = new HashMap<>(AzureEnvironment.AZURE.getEndpoints());
    endpoints.put("resourceManagerEndpointUrl", origin + "/");
    endpoints.put("activeDirectoryEndpointUrl", origin + "/");
    endpoints.put("managementEndpointUrl", "https://management.azure.com/");
    SqlManagementClient client = manage(credential, "sub-1", endpoints);
    AtomicInteger pages = new AtomicInteger();
    Set<String> names = new HashSet<>();
    manage(credential, "many", endpoints).getServers().list().iterableByPage().forEach((page) -> {
      pages.incrementAndGet();
      page.getValue().forEach((one) -> names.add(one.name()));
    });
    check("1001 servers come in two pages", pages.get() == 2 && names.size() == 1001, pages, names.size());
    ServerInner declared = new ServerInner().withAdministratorLogin("sa").withAdministratorLoginPassword("ignored");
    declared.withLocation("here");
    check("server created", client.getServers().createOrUpdate(group, server, declared).name().equals(server));
    DatabaseInner wanted = new DatabaseInner();
    wanted.withLocation("here");
    check("database created",
        client.getDatabases().createOrUpdate(group, server, database, wanted).type()
            .equals("Microsoft.Sql/servers/databases"));
    check("servers listed",
        client.getServers().list().stream().anyMatch((one) -> one.name().equals(server)));
    check("databases listed",
        client.getDatabases().listByServer(group, server).stream().anyMatch((one) -> one.name().equals(database)));
    check("policy of a new database",
        client.getDataMaskingPolicies().get(group, server, database, policy).dataMaskingState() == DataMaskingState.DISABLED);
    DataMaskingRuleInner rule = new DataMaskingRuleInner().withSchemaName("public").withTableName("person")
        .withColumnName("email").withMaskingFunction(DataMaskingFunction.EMAIL);
    check("rule created",
        client.getDataMaskingRules().createOrUpdate(group, server, database, policy, "mail", rule).ruleState()
            == DataMaskingRuleState.ENABLED);
    check("rules listed", client.getDataMaskingRules().listByDatabase(group, server, database, policy).stream().count() == 1);
    check("policy changed",
        client.getDataMaskingPolicies().createOrUpdate(group, server, database, policy,
            new DataMaskingPolicyInner().withDataMaskingState(DataMaskingState.ENABLED).withExemptPrincipals("dba"))
            .exemptPrincipals().equals("dba"));
    check("rule deleted",
        client.getDataMaskingRules().createOrUpdate(group, server, database, policy, "mail",
            rule.withRuleState(DataMaskingRuleState.DISABLED)).ruleState() == DataMaskingRuleState.DISABLED);
    try {
      client.getDatabases().get(group, server, "nowhere");
      check("an unknown database is not found", false);
    } catch (ManagementException refusal) {
      check("an unknown database is not found", refusal.getValue().getCode().equals("ResourceNotFound"), refusal);
    }
    client.getDatabases().delete(group, server, database);
    client.getServers().delete(group, server);
    check("server deleted", client.getServers().list().stream().noneMatch((one) -> one.name().equals(server)));
  }

  static SqlManagementClient manage(TokenCredential credential, String subscription, Map<String, String> endpoints) {
    AzureProfile profile =
        new AzureProfile(System.getenv("WALK_TENANT"), subscription, new AzureEnvironment(endpoints));
    return SqlServerManager.authenticate(credential, profile).serviceClient();
  }

  static User newUser() {
    String name = "j-" + UUID.randomUUID();
    User user = new User();
    user.setDisplayName(name);
    user.setAccountEnabled(true);
    user.setMailNickname(name);
    user.setUserPrincipalName(name + "@example.com");
    PasswordProfile profile = new PasswordProfile();
    profile.setPassword("a long-winded Phrase 42");
    user.setPasswordProfile(profile);
    return user;
  }

  static void walkDirectory(TokenCredential credential) throws Exception {
    GraphServiceClient client = new GraphServiceClient(
        new AzureIdentityAuthenticationProvider(credential, new String[] {"localhost"}, graphScope));
    String base = origin + "/microsoft.graph/v1.0";
    client.getRequestAdapter().setBaseUrl(base);
    List<User> made = new ArrayList<>();
    for (int i = 0; i < 5; i++) made.add(client.users().post(newUser()));
    check("people created", made.stream().allMatch((user) -> user.getId() != null));

    List<String> seen = new ArrayList<>();
    UserCollectionResponse page = client.users().get((request) -> request.queryParameters.top = 2);
    new PageIterator.Builder<User, UserCollectionResponse>()
        .client(client)
        .collectionPage(page)
        .collectionPageFactory(UserCollectionResponse::createFromDiscriminatorValue)
        .processPageItemCallback((user) -> seen.add(user.getId()))
        .build()
        .iterate();
    check("pages of two have all people", made.stream().allMatch((user) -> seen.contains(user.getId())), seen.size());

    DeltaGetResponse changes = client.users().delta().get();
    while (changes.getOdataNextLink() != null) changes = client.users().delta().withUrl(changes.getOdataNextLink()).get();
    User change = new User();
    change.setJobTitle("Changed");
    client.users().byUserId(made.get(0).getId()).patch(change);
    client.users().byUserId(made.get(1).getId()).delete();
    changes = client.users().delta().withUrl(changes.getOdataDeltaLink()).get();
    check("delta tells the change",
        changes.getValue().stream().anyMatch((user) -> "Changed".equals(user.getJobTitle())));
    check("delta tells the deletion",
        changes.getValue().stream().anyMatch((user) -> user.getAdditionalData().containsKey("@removed")));

    Group declared = new Group();
    declared.setDisplayName("G");
    declared.setMailNickname("g-" + UUID.randomUUID());
    declared.setMailEnabled(false);
    declared.setSecurityEnabled(true);
    String groupId = client.groups().post(declared).getId();
    ReferenceCreate reference = new ReferenceCreate();
    reference.setOdataId(base + "/directoryObjects/" + made.get(2).getId());
    client.groups().byGroupId(groupId).members().ref().post(reference);
    List<DirectoryObject> members = client.groups().byGroupId(groupId).members().get().getValue();
    check("a member is of its type", members.size() == 1 && members.get(0) instanceof User, members);
    check("a cast is understood",
        client.groups().byGroupId(groupId).members().graphUser().get().getValue().size() == 1);
    String memberId = members.get(0).getId();
    check("one member is cast", memberId.equals(client.groups().byGroupId(groupId).members()
        .byDirectoryObjectId(memberId).graphUser().get().getId()));
    check("one of the groups of a person is of its type", client.users().byUserId(memberId).memberOf()
        .byDirectoryObjectId(groupId).get() instanceof Group);

    BatchRequestContent batch = new BatchRequestContent(client);
    String step = batch.addBatchRequestStep(client.users().byUserId(made.get(2).getId()).toGetRequestInformation());
    User answered = client.getBatchRequestBuilder().post(batch, null)
        .getResponseById(step, User::createFromDiscriminatorValue);
    check("a batch has typed bodies", made.get(2).getId().equals(answered.getId()));

    try {
      client.users().byUserId(UUID.randomUUID().toString()).get();
      check("an unknown person is not found", false);
    } catch (ODataError refusal) {
      check("an unknown person is not found",
          refusal.getResponseStatusCode() == 404
              && refusal.getError().getCode().equals("Request_ResourceNotFound"), refusal.getError().getCode());
    }
  }

  static void tellVersions() {
    List<String> told = new ArrayList<>();
    for (String path : System.getProperty("java.class.path").split(":"))
      for (String name : List.of("azure-identity", "azure-resourcemanager-sql", "microsoft-graph"))
        if (path.matches(".*/" + name + "-[0-9][^/]*[.]jar"))
          told.add(name + " " + path.replaceAll(".*/" + name + "-|[.]jar$", ""));
    System.out.println("versions " + String.join(", ", told));
  }
}
